package report

import (
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// AttackLines are what an attack is, from where and since when.
func AttackLines(c *call.Call, k record.KnownAttack) (lines text.Lines) {
	if k.Incident() {
		lines.Addf("%v. `vulns %v` shows it with its incidents", worked(k.Attack), text.Field(k.VulnID))
	}
	lines = append(lines, sourcesLine(k.Attack, func(s apiclient.Source) string { return knownSource(c, k.Attack, s) }))
	lines.Addf("First hit %v, %v, %v, %v", words.Ago(k.First, c.Now), words.Figure(k.Payloads, "payload"),
		words.Figure(k.SourceCount, "source"), words.Answers(k.Attack))
	return lines
}

// Details are what an attack's card has no room for: how its hits came, the mode, and why a button is missing.
func Details(s call.Situation) (lines text.Lines) {
	if s.ListsReadAt.IsZero() {
		return text.Lines{text.New("Which buttons would help is unknown: the service doesn't answer")}
	}
	if s.Attack.App.Known {
		lines.Addf("Mode by rules: %v (a node's own setting can override it)",
			words.ModeName(text.Field(words.ModeByRules(s.Rules, int(s.Attack.App.N)))))
	}
	for _, why := range advice.Advise(s).Notes {
		lines.Add("Not offered: ", why)
	}
	return lines
}

// Fresh is the call's attack as the service lists it now: the stored record of one without a card may be an hour old.
// Where the service doesn't answer it is that one, and a line says so.
func Fresh(c *call.Call) (k record.KnownAttack, old text.Lines) {
	k = *c.Attack
	if record.IsStorm(k.Attack.ID) {
		return k, nil
	}
	now, listed, err := listedNow(c)
	if listed {
		k.Attack = now
	}
	if err != nil {
		old = text.Lines{text.New("The service doesn't answer: these figures are the last that wafbot saw")}
	}
	return k, old
}

// worked says that an attack is an incident.
func worked(a apiclient.Attack) text.Text {
	return text.Newf("*It worked*, says the service: vulnerability `%v`. Assume data was read", text.Field(a.VulnID))
}

// sourcesLine is where an attack's hits came from, as far as the service listed it: each source with its remark.
func sourcesLine(a apiclient.Attack, about func(apiclient.Source) string) text.Text {
	if len(a.Sources) == 0 {
		return text.New("Sources: unknown")
	}
	var named text.Lines
	for _, s := range a.Sources {
		one, percent := text.New(text.Code(s.IP.String())), ""
		if n, ok := words.Share(s, a); ok {
			percent = words.Percent(n)
		}
		for _, words := range []string{text.Sanitize(s.Country, 20), percent, about(s)} {
			if words != "" {
				one.Add(" ", words)
			}
		}
		named = append(named, one)
	}
	if rest := a.SourceCount.N - int64(len(named)); a.SourceCount.Known && rest > 0 {
		named.Add(rest, " more")
	}
	return text.New("Sources: ", text.Join(named, " · "))
}

// knownSource says whose a source is, and in how many other attacks it is.
func knownSource(c *call.Call, a apiclient.Attack, s apiclient.Source) (known string) {
	if src, ok := c.PolicyNow().SourceOf(s.IP); ok {
		known = "= " + src.Name
	}
	if more := words.Elsewhere(c.Context.Sources[s.IP], a, s.IP); more != "" {
		known = strings.TrimSpace(known + " (" + more + ")")
	}
	return known
}
