package doctor

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
)

// pagers checks whether something answers at the address of each pager, each once. It calls none: that would wake
// people.
func (c checkup) pagers(ctx context.Context) findings {
	type place struct {
		key     string
		address apiclient.Secret
	}
	var all []place
	for key, r := range c.Routes() {
		if r.Page != nil && !slices.ContainsFunc(all, func(p place) bool { return p.address == r.Page.URL }) {
			all = append(all, place{key + ".page", r.Page.URL})
		}
	}
	return sideBySide(all, func(p place) findings {
		return findings{c.answers(ctx, p.address, c.SecretKey(p.key+".url")).of("pager", p.key)}
	})
}

// answers asks whether something answers at an address. Nothing is sent there but the question, and of the address no
// query: some have their key there.
func (c checkup) answers(ctx context.Context, address apiclient.Secret, key string) Finding {
	host := hostOf(address.Reveal())
	bare, _, _ := strings.Cut(address.Reveal(), "?")
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, bare, http.NoBody)
	if err != nil {
		return wrong("it has no web address", "check "+key)
	}
	client := apiclient.NewHTTP()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return networkTrouble(apiclient.WithoutURL(err), host, key)
	}
	_ = res.Body.Close() // it has none
	if res.StatusCode/100 == 3 {
		return say(Warn, fmt.Sprintf("%s sends wafbot elsewhere (status %d), which isn't followed", host, res.StatusCode), "check "+key)
	}
	return say(OK, host+" answers; whether it takes what it is sent shows only then", "")
}
