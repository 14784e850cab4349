package doctor

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/webhooks"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/text"
)

// webhooks checks whether something answers at the address of each webhook. It sends no event: the receiver would take it for one that happened.
func (c checkup) webhooks(ctx context.Context) []Finding {
	return sideBySide(c.cfg.WebhookList(), func(w webhooks.Webhook) []Finding {
		return []Finding{c.answers(ctx, w.URL, w.Name+".url").of("webhook", w.Name)}
	})
}

// pagers checks the same of pagers, each once. It calls none: that would wake people.
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

// answers asks whether something answers at an address. Nothing is sent there but the question, and of the address no query: some have their key there.
func (c checkup) answers(ctx context.Context, address apiclient.Secret, key string) Finding {
	host := hostOf(address.Reveal())
	if c.cfg.IsSet(key + "_file") {
		key += "_file"
	}
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

// waitsLong is how long events wait for a webhook that takes them, at most.
const waitsLong = 5 * time.Minute

// waiting says what waits for webhooks.
func (c checkup) waiting(ctx context.Context, s *store.Store) (found []Finding) {
	list, accounts := c.cfg.WebhookList(), map[string][]string{}
	for _, a := range c.cfg.Accounts {
		accounts[a.Name] = list.Of(a.Name)
	}
	all, err := s.Waiting(ctx, accounts)
	if err != nil {
		return nil // Redis' own findings say so
	}
	for _, w := range list {
		q := all.Webhooks[w.ID()]
		if q.Waiting == 0 {
			continue
		}
		age := c.clocks.Now().Sub(q.Oldest)
		f := Finding{State: Note, Text: fmt.Sprintf("waiting for it: %s, the oldest for %s", text.Count(q.Waiting, "event"), text.Duration(age.Truncate(time.Second)))}
		if age > waitsLong {
			f.State, f.Fix = Warn, "webhooks in /readyz of the running wafbot, or its log, says why it doesn't take them; after a day they are dropped"
		}
		found = append(found, f.of("webhook", w.Name))
	}
	return found
}
