package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/commands/webhooks"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/text"
	"github.com/wafbot/wafbot/internal/webhook"
)

// webhooks checks whether something answers at the address of each webhook. It sends no event: the receiver would take it for one that happened.
func (c checkup) webhooks(ctx context.Context) []Finding {
	return sideBySide(c.cfg.WebhookList(), func(w webhooks.Webhook) []Finding {
		f := c.webhook(ctx, w)
		return []Finding{f.of("webhook", w.Name)}
	})
}

func (c checkup) webhook(ctx context.Context, w webhooks.Webhook) Finding {
	host, key := hostOf(w.URL.Reveal()), w.Name+".url"
	to, err := webhook.New(w.URL, w.Secret)
	if err != nil {
		return wrong(err.Error(), "check "+w.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	status, err := to.Answers(ctx)
	switch {
	case err != nil:
		return networkTrouble(err, host, key)
	case status/100 == 3:
		return Finding{State: Warn, Text: fmt.Sprintf("%s sends wafbot elsewhere (status %d), which isn't followed", host, status), Fix: "check " + key}
	}
	return Finding{State: OK, Text: host + " answers; whether it takes events shows only when one is sent"}
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
