package change

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Rebuilt is what is known of an account's changes after Redis was emptied.
type Rebuilt struct {
	Changes []record.Change
	Listed  []string // ids of those that no message named: their entries stand on the service's lists
	Unknown []string // ids of those that messages named and of which it can't be found out what they did
}

// Rebuild puts an account's changes together from the last message about each and from the entries that stand on the service's lists, whose
// reasons name the change that made them. Only the messages say what stood there before an entry.
func Rebuild(a *call.Account, posted []record.Change, entries []apiclient.IPRule, now time.Time) Rebuilt {
	var r Rebuilt
	made := entriesByChange(entries)
	for _, c := range posted {
		if len(c.Steps) == 0 && c.State != record.StateFailed && c.State != record.StateUndone && c.Undoes == "" {
			c.Steps = addedBy(c, made[cmp.Or(c.Extends, c.ID)])
		}
		if len(c.Steps) == 0 && c.Parent() == "" && (c.State == record.StateDone || c.State == record.StateHalf || c.State == record.StateBegun) {
			r.Unknown = append(r.Unknown, c.ID)
			continue
		}
		r.Changes = append(r.Changes, c)
	}
	for id, own := range made {
		if !slices.ContainsFunc(posted, func(c record.Change) bool { return c.ID == id }) {
			r.Changes = append(r.Changes, listedChange(a, id, own, now))
			r.Listed = append(r.Listed, id)
		}
	}
	slices.SortFunc(r.Changes, func(x, y record.Change) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.ID, y.ID)) })
	for _, c := range r.Changes {
		for i := range r.Changes {
			if c.State == record.StateDone {
				affect(&r.Changes[i], c)
			}
		}
	}
	for i := range r.Changes {
		takeLonger(&r.Changes[i], made[r.Changes[i].ID])
	}
	slices.Sort(r.Listed)
	return r
}

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

func entriesByChange(entries []apiclient.IPRule) map[string][]apiclient.IPRule {
	all := map[string][]apiclient.IPRule{}
	for _, e := range entries {
		if change, ok := NamedIn(e.Reason); ok {
			all[change] = append(all[change], e)
		}
	}
	return all
}

// takeLonger moves a change's end to that of its entries, where they are listed for longer than any message says: not every renewal is posted.
func takeLonger(c *record.Change, entries []apiclient.IPRule) {
	until := c.Until
	for _, e := range entries {
		if until.IsZero() || !e.Expires.After(until) || !e.Expires.Before(apiclient.Forever) {
			continue
		}
		c.Prolong(e.Expires)
		for _, s := range c.Steps {
			if s.Kind == record.AddEntry && efficacy.PartOf(e, *c, s) {
				s.Entry.Expires = e.Expires
			}
		}
	}
}

// addedBy are the steps that made the entries, of a change whose own are not known. One that prolonged another has left those with its end.
func addedBy(c record.Change, entries []apiclient.IPRule) []record.Step {
	var steps []record.Step
	for _, e := range entries {
		if c.Extends == "" || e.Expires.Equal(c.Until) {
			steps = append(steps, record.Step{Kind: record.AddEntry, Entry: &e, Sent: true, Done: true, ID: e.ID})
		}
	}
	return steps
}

// listedChange is a change of which only its entries are left.
func listedChange(a *call.Account, id string, entries []apiclient.IPRule, now time.Time) record.Change {
	e, l := entries[0], Denying
	m := reasonPrefix.FindStringSubmatch(e.Reason)
	for _, other := range []Listing{Allowing, Graying} {
		if e.List == other.list {
			l = other
		}
	}
	c := record.Change{
		ID: id, Account: a.Name, AttackID: m[4], Line: record.Line{Name: l.Name}, When: describe.EntryWorks, Role: record.Responder, State: record.StateDone,
		Actor: record.Actor{ID: m[3], Name: text.Sanitize(m[2], text.MaxField)}, At: e.Created, Steps: addedBy(record.Change{}, entries),
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
	c.Does = fmt.Sprintf("%s %s %s", l.verb, describe.Targets(targets), a.AppsText(e.Apps))
	return c
}
