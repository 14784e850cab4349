package commands

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func attacks() *Command {
	return &Command{
		Name: "attacks", Role: record.Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "the attacks of the last hour, the newest first",
		Args: []Arg{
			{Name: "since", Help: "how far back: 1h", Read: readDuration},
			{Name: "storm", Help: "only those that a storm groups, by its id, as on its card", Options: stormsGathered}, argPage,
		},
		Read: func(c *Call) (Result, error) {
			if c.Line.Keys["storm"] != "" {
				return c.readGathered()
			}
			return c.readListing("attack", time.Hour, apiclient.AttackFilter{})
		},
	}
}

// readListing lists attacks, or incidents only, of all the accounts that the call is about.
func (c *Call) readListing(what string, back time.Duration, f apiclient.AttackFilter) (Result, error) {
	var err error
	if f.From, err = c.since(back); err != nil {
		return Result{}, err
	}
	res := Result{Account: c.onlyAccount()}
	data, pages := []AttackRow{}, c.pages(len(c.All))
	failed := 0
	for _, a := range c.All {
		all, err := c.facts(a.Name).Attacks(f)
		if err != nil {
			err := forPeople(fmt.Errorf("list attacks of %s: %w", a.Name, err))
			if failed++; failed == len(c.All) {
				return Result{}, err
			}
			words, _ := ForPeople(c.Invocation, err)
			res.Lines = append(res.Lines, text.New(text.Bold(a.Name), ": unknown: ", words))
			continue
		}
		res.Lines = append(res.Lines, text.New(text.Bold(a.Name), ": ", text.Count(len(all), what), " in the last ", text.HumanDuration(c.Now.Sub(f.From))))
		res.Lines = append(res.Lines, c.attackLines(pages, a, all)...)
		for _, attack := range all {
			data = append(data, AttackRow{ID: record.AttackID(a.Name, attack.ID), Account: a.Name, Ongoing: c.ongoing(a, attack), Attack: attack})
		}
	}
	res.Data = data
	return pages.finish(res)
}

// since is how far back a line looks.
func (c *Call) since(back time.Duration) (time.Time, error) {
	since, err := c.auditedSince(back)
	if err == nil && since.IsZero() {
		err = refusal.Usage(text.New(text.Code("since="), " needs an end: ", text.Code("24h")))
	}
	return since, err
}

// AttackRow is an attack with what people said about it.
type AttackRow struct {
	ID      string           `json:"id"`
	Account string           `json:"account"`
	Ongoing bool             `json:"ongoing"`
	Attack  apiclient.Attack `json:"attack"`
	Case    record.Triage    `json:"case,omitzero"`
	Card    string           `json:"card,omitempty"`  // where its card can be opened; "": not known
	Storm   string           `json:"storm,omitempty"` // that gathered it; "" where that is not asked
	Own     bool             `json:"own,omitempty"`   // gathered, and it has a card of its own since
}

func (c *Call) onlyAccount() string {
	if c.Account == nil {
		return ""
	}
	return c.Account.Name
}

func (c *Call) attackLines(pages *pager, a *Account, all []apiclient.Attack) []text.Text {
	return pages.part(len(all), func(i int) text.Text { return AttackLine(a, all[i], c.Now) })
}

// ongoing reports whether the attack's last hit is so young that it counts as going on.
func (c *Call) ongoing(a *Account, attack apiclient.Attack) bool {
	return !attack.Last.IsZero() && c.Now.Sub(attack.Last) < a.OngoingFor
}

// AttackLine is an attack in one line, what its attacker wrote last.
func AttackLine(a *Account, attack apiclient.Attack, now time.Time) text.Text {
	return attackLine(a, attack, now, nil)
}

// attackLine is an attack in one line, with the way to its card where nothing is ever cut.
func attackLine(a *Account, attack apiclient.Attack, now time.Time, card text.Text) text.Text {
	kind := text.New(TypeName(text.Sanitize(attack.Type, text.MaxField)))
	switch {
	case record.IsStorm(attack.ID): // who has all its facts says more: StormLine
		kind = text.New(text.Bold("STORM"), " of attacks")
	case attack.Incident():
		kind = text.New(text.Bold("INCIDENT"), " ", kind)
	}
	return text.New(text.Code(record.AttackID(a.Name, attack.ID)), " ", card, kind, " on ", a.AppName(attack.App), ", ", text.Bold(StatusName(attack)), ", ",
		figure(attack.Hits, "hit"), ", ", figure(attack.SourceCount, "source"), ", last hit ", ago(attack.Last, now), ": ", text.Code(Where(attack)))
}

// severalPaths is the path of a record that has several.
const severalPaths = "[multiple]"

// Where is what an attack hits: METHOD host/path.
func Where(a apiclient.Attack) string {
	host, path := text.Sanitize(a.Domain, text.MaxHost), text.Sanitize(a.Path, text.MaxPath)
	if path == severalPaths {
		path = "/… (several paths)"
	}
	return strings.TrimSpace(text.Sanitize(a.Method, 10) + " " + cmp.Or(host, "unknown host") + path)
}

// In is the field or other part of a request that an attack is in, to go behind Where; nil: unknown.
func In(a apiclient.Attack) text.Text {
	point, ok := apiclient.ParameterPoint(a.Parameter)
	if !ok {
		if a.Parameter == "" {
			return nil
		}
		return text.New(", field ", text.Code(text.Sanitize(a.Parameter, text.MaxField)))
	}
	last := point[len(point)-1]
	kinds := map[any]string{"get": "field", "form_urlencoded": "field", "hash": "field", "header": "header"}
	if kind := kinds[last[0]]; kind != "" {
		return text.New(", ", kind, " ", text.Code(text.Sanitize(fmt.Sprint(last[1]), text.MaxField)))
	}
	return text.New(", part ", text.Code(text.Sanitize(point.String(), text.MaxField)))
}

// StatusName is the blocking status for people; an unknown one is shown as the service wrote it.
func StatusName(a apiclient.Attack) string {
	switch a.Status() {
	case apiclient.StatusBlocked:
		return "blocked"
	case apiclient.StatusPartly:
		return "partly blocked"
	case apiclient.StatusNotBlocked:
		return "not blocked"
	}
	if a.BlockStatus == "" || strings.EqualFold(a.BlockStatus, "unknown") {
		return "blocking unknown"
	}
	return "blocking: " + text.Sanitize(a.BlockStatus, text.MaxField)
}

// ago is how long ago something was, "unknown" for a zero time.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	d := now.Sub(t)
	switch {
	case d < time.Second:
		return "just now"
	case d > time.Minute:
		d = d.Truncate(time.Minute) // the seconds of a quarter of an hour tell nobody anything
	}
	return text.HumanDuration(d) + " ago"
}
