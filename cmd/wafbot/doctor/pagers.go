package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
)

// pagers checks whether something answers at the address of each pager, each once. It calls none: that would wake
// people.
func (c checkup) pagers(ctx context.Context) findings {
	asked := map[apiclient.Secret]bool{}
	var checks []check
	for key, r := range c.Routes() {
		if r.Page != nil && !asked[r.Page.URL] {
			asked[r.Page.URL] = true
			checks = append(checks, func(ctx context.Context) findings {
				return findings{c.answers(ctx, r.Page.URL, c.SecretKey(key+".page.url")).of("pager", key+".page")}
			})
		}
	}
	return together(ctx, checks...)
}

// answers asks whether something answers at an address. It sends a bare HEAD request, without the address's query: some
// pagers have their key there.
func (c checkup) answers(ctx context.Context, address apiclient.Secret, key string) Finding {
	host := hostOf(address.Reveal())
	bare, _, _ := strings.Cut(address.Reveal(), "?")
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, bare, http.NoBody)
	if err != nil {
		return wrong("it has no web address", "check "+key)
	}
	client := apiclient.WithoutRedirects(nil)
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return networkTrouble(apiclient.WithoutURL(err), host, key)
	}
	_ = res.Body.Close() // it has none
	if res.StatusCode/100 == 3 {
		return say(Warn, fmt.Sprintf("%s sends wafbot elsewhere (status %d), which isn't followed", host, res.StatusCode),
			"check "+key)
	}
	return say(OK, host+" answers; whether it takes what it is sent shows only then", "")
}
