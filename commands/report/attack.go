package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// AttackLines are what an attack is, from where and since when.
func AttackLines(c *call.Call, k record.KnownAttack) []text.Text {
	lines := []text.Text{text.New(describe.Attack(c.Account, k.Attack, c.Now), describe.Part(k.Attack))}
	if k.Incident() {
		lines = append(lines, text.New(text.Bold("It worked"), ", says the service: vulnerability ", text.Code(text.Sanitize(k.VulnID, text.MaxField)), ". Assume data was read"))
	}
	return append(lines, text.New("Sources: ", sourcesText(c, k.Attack)), text.New("First hit ", describe.Ago(k.First, c.Now), ", ", describe.Figure(k.Payloads, "payload")))
}

// Fresh is the call's attack as the service lists it now: the remembered record of one without a card may be an hour old.
// Where the service doesn't answer it is that one, and a line says so.
func Fresh(c *call.Call) (k record.KnownAttack, old []text.Text) {
	k = *c.Attack
	if record.IsStorm(k.Attack.ID) {
		return k, nil
	}
	now, listed, err := listedNow(c)
	if listed {
		k.Attack = now
	}
	if err != nil {
		old = []text.Text{text.New("The service doesn't answer: these figures are the last that wafbot saw")}
	}
	return k, old
}

func sourcesText(c *call.Call, a apiclient.Attack) string {
	var parts []string
	for _, s := range a.Sources[:min(3, len(a.Sources))] {
		share := ""
		if percent, ok := describe.Share(s, a); ok {
			share = " " + describe.Percent(percent)
		}
		own := ""
		if src, ok := c.PolicyNow().SourceOf(s.IP); ok {
			own = " = " + src.Name
		}
		if more := describe.SourceElsewhere(c.Context.Sources[s.IP], a, s.IP); more != "" {
			own += " (" + more + ")"
		}
		parts = append(parts, strings.TrimSpace(s.IP.String()+" "+text.Sanitize(s.Country, 20))+share+own)
	}
	if rest := a.SourceCount.N - int64(len(parts)); a.SourceCount.Known && rest > 0 {
		parts = append(parts, fmt.Sprintf("%d more", rest))
	}
	return cmp.Or(strings.Join(parts, " · "), "unknown")
}

// KnownAttacks are all the account's remembered attacks and storms, by their ids.
func KnownAttacks(c *call.Call) (map[string]apiclient.Attack, error) {
	all := map[string]apiclient.Attack{}
	attacks, err := c.Given().KnownAttacks("a")
	storms, stormsErr := c.Given().KnownAttacks("s")
	maps.Copy(all, attacks)
	maps.Copy(all, storms)
	return all, errors.Join(err, stormsErr)
}

// Since is how far back a line looks.
func Since(c *call.Call, back time.Duration) (time.Time, error) {
	since, err := AuditFrom(c, back)
	if err == nil && since.IsZero() {
		err = refusal.Usage(text.New(text.Code("since="), " needs an end: ", text.Code("24h")))
	}
	return since, err
}

// AttackList is a page of attacks, a line each.
func AttackList(c *call.Call, pages *call.Pager, a *call.Account, all []apiclient.Attack) []text.Text {
	return pages.Part(len(all), func(i int) text.Text { return describe.Attack(a, all[i], c.Now) })
}
