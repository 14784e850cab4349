package change

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// reasonPrefix is how an entry's reason begins that wafbot made: the change, who asked, and the attack that it was for.
var reasonPrefix = regexp.MustCompile(`^wafbot (c[0-9a-z]{8}) by (.+?) \(((?:cli:)?[^\s()]+)\)(?: for (a[0-9a-z]{8}))?(?:$|:)`)

// NamedIn is the change that made an entry or a rule, by its reason or comment; false if wafbot didn't make it.
func NamedIn(reason string) (change string, ok bool) {
	m := reasonPrefix.FindStringSubmatch(reason)
	if m == nil || !record.IsID('c', m[1]) {
		return "", false
	}
	return m[1], true
}

// AddedBy are the steps that made the entries, of a change whose own are not known. One that prolonged another has left
// those with its end.
func AddedBy(c record.Change, entries []apiclient.IPRule) []record.Step {
	var steps []record.Step
	for _, e := range entries {
		if c.Extends == "" || e.Expires.Equal(c.Until) {
			steps = append(steps, record.Step{Kind: record.AddEntry, Entry: &e, Sent: true, Done: true, ID: e.ID})
		}
	}
	return steps
}

// Listed is a change that has nothing left but its entries.
func Listed(a *config.Account, id string, entries []apiclient.IPRule, now time.Time) record.Change {
	e, l := entries[0], Denying
	m := reasonPrefix.FindStringSubmatch(e.Reason)
	for _, other := range []Listing{Allowing, Graying} {
		if e.List == other.list {
			l = other
		}
	}
	c := record.Change{
		ID: id, Account: a.Name, AttackID: m[4], Line: record.Line{Name: l.Name}, When: words.EntryWorks,
		Role: record.Responder, State: record.StateDone, At: e.Created, Steps: AddedBy(record.Change{}, entries),
		Actor: record.Actor{ID: m[3], Name: text.Field(m[2])},
	}
	if c.At.IsZero() || c.At.After(now) {
		c.At = now
	}
	if e.Expires.Before(apiclient.Forever) {
		c.Until = e.Expires
	}
	if l.list == apiclient.ListAllow {
		c.Role = record.Admin
	}
	var targets []grammar.Target
	for _, own := range entries {
		targets = append(targets, grammar.TargetsOf(own)...)
	}
	c.Line.Words = wordsOf(targets)
	if !slices.Contains(e.Apps, apiclient.AllApps) {
		c.Line = c.Line.With("app", strings.Trim(strings.ReplaceAll(fmt.Sprint(e.Apps), " ", ","), "[]"))
	}
	c.Effect = call.Plan{Line: c.Line}.Effect()
	c.Does = fmt.Sprintf("%s %s %s", l.verb, words.Targets(targets), call.AppsText(a, e.Apps))
	return c
}
