package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Together reports whether the listings of a call's accounts are one list, in which each line names its account: of
// more than a few accounts nobody reads one list after another.
func Together(c *call.Call) bool { return len(c.InScope) > call.ShortList }

// lists are what the accounts of a call list.
type lists struct {
	what, span string // "attack", " in the last 1 h"
	titles     []string
	of         []listed
}

// listed is what an account lists, or why that is unknown.
type listed struct {
	account string
	rows    []row
	err     error
}

// row is one line of a list, which is drawn only if it is shown.
type row struct {
	account string
	at      time.Time
	line    func() text.Text
}

// answer shows the lists; data is the same for programs.
func (l lists) answer(c *call.Call, data any) (call.Result, error) {
	res := call.Result{Account: c.OnlyAccount(), Data: data}
	if Together(c) {
		return l.together(c, res)
	}
	pages := call.Pages(c, len(l.of))
	for _, list := range l.of {
		if list.err != nil {
			words, _ := call.ForPeople(c.Invocation, list.err)
			res.Lines.Add(text.Bold(list.account), ": unknown: ", words)
			continue
		}
		res.Lines.Add(text.Bold(list.account), ": ", text.Count(len(list.rows), l.what), l.span)
		res.Lines = append(res.Lines, pages.Table(l.titles, len(list.rows),
			func(i int) text.Text { return list.rows[i].line() })...)
	}
	return pages.Finish(res)
}

// together shows the lists as one, the newest first. Of the accounts that could not be read it names a few.
func (l lists) together(c *call.Call, res call.Result) (call.Result, error) {
	var rows []row
	faults, with := map[string]string{}, 0
	for _, list := range l.of {
		if list.err != nil {
			words, _ := call.ForPeople(c.Invocation, list.err)
			faults[list.account] = words.String()
		}
		with += min(1, len(list.rows))
		rows = append(rows, list.rows...)
	}
	slices.SortStableFunc(rows, func(x, y row) int { return y.at.Compare(x.at) })
	head := text.Newf("*%v*%v, in %v of %v",
		text.Count(len(rows), l.what), l.span, text.Number(with), text.Count(len(l.of), "account"))
	if n := len(faults); n > 0 {
		head.Addf("; unknown of %v", text.Number(n))
	}
	pages := call.Pages(c, 1)
	table := pages.Table(append([]string{"ACCOUNT"}, l.titles...), len(rows), func(i int) text.Text {
		return text.Lead(rows[i].account, text.Cell(" "), rows[i].line())
	})
	res.Lines = slices.Concat(text.Lines{head}, unknownOf(faults), table)
	return pages.Finish(res)
}

// ListAttacks lists attacks, or incidents only, of all the accounts that the call is about.
func ListAttacks(c *call.Call, what string, back time.Duration) (res call.Result, err error) {
	from, err := Since(c, back)
	if err != nil {
		return res, err
	}
	l := lists{what: what, span: " in the last " + text.Duration(c.Now.Sub(from)), titles: words.AttackTitles()}
	data, known := []call.AttackRow{}, false
	for _, a := range c.InScope {
		one, list := c.For(a), listed{account: a.Name}
		attacks, failed := one.Facts.Attacks.Get()
		if failed != nil {
			err = refusal.FromService(fmt.Errorf("list attacks of %s: %w", a.Name, failed))
			list.err = err
		}
		known = known || failed == nil
		for _, attack := range attacks {
			data = append(data, one.AttackRow(attack, record.Triage{}))
			list.rows = append(list.rows, row{a.Name, attack.Last, func() text.Text { return words.Attack(a, attack, one.Now) }})
		}
		l.of = append(l.of, list)
	}
	if !known {
		return res, err
	}
	return l.answer(c, data)
}

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
		one, percent := text.New(text.Code(s.String())), ""
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
	if src, ok := c.PolicyNow().SourceOf(s); ok {
		known = "= " + src.Name
	}
	if more := words.Elsewhere(c.Context.Sources[s.IP], a, s.IP); more != "" {
		known = strings.TrimSpace(known + " (" + more + ")")
	}
	return known
}
