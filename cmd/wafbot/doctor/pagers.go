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
func (c checkup) pagers(ctx context.Context) []Finding {
	type place struct {
		key     string
		address apiclient.Secret
	}
	var all []place
	for route, r := range c.cfg.Routes() {
		if r.Page != nil && !slices.ContainsFunc(all, func(p place) bool { return p.address == r.Page.URL }) {
			all = append(all, place{route + ".page", r.Page.URL})
		}
	}
	return sideBySide(all, func(p place) []Finding {
		return []Finding{c.answers(ctx, p.address, p.key+".url").of("pager", p.key)}
	})
}

// answers asks whether something answers at an address. Nothing is sent there but the question, and of the address no
// query: some have their key there.
func (c checkup) answers(ctx context.Context, address apiclient.Secret, key string) Finding {
	host := hostOf(address.Reveal())
	key = c.cfg.SecretKey(key)
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	bare, _, _ := strings.Cut(address.Reveal(), "?")
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
		return Finding{State: Warn, Text: fmt.Sprintf("%s sends wafbot elsewhere (status %d), which isn't followed", host, res.StatusCode), Fix: "check " + key}
	}
	return Finding{State: OK, Text: host + " answers; whether it takes what it is sent shows only then"}
}
