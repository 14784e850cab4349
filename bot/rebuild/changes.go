package rebuild

import (
	"cmp"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// Known is what is known of an account's changes after Redis was emptied.
type Known struct {
	Changes []record.Change
	Listed  []string // ids of those that no message named: their entries stand on the service's lists
	Unknown []string // ids that messages named, where nothing says what the change did
}

// Service is what stands at the service.
type Service struct {
	Entries []apiclient.IPRule // on its lists
	Rules   []apiclient.Rule
}

// Changes puts an account's changes together from the last message about each and from what stands at the service. The
// reasons of its entries name the change that made them. Only the messages say what stood there before an entry.
func Changes(a *config.Account, posted []record.Change, at Service, now time.Time) (k Known) {
	made := map[string][]apiclient.IPRule{}
	for _, e := range at.Entries {
		if id, ok := change.NamedIn(e.Reason); ok {
			made[id] = append(made[id], e)
		}
	}
	for _, c := range posted {
		complete(&c, made[cmp.Or(c.Extends, c.ID)], at.Rules)
		begun := c.State == record.StateDone || c.State == record.StateHalf || c.State == record.StateBegun
		if len(c.Steps) == 0 && c.Parent() == "" && begun {
			k.Unknown = append(k.Unknown, c.ID)
		} else {
			k.Changes = append(k.Changes, c)
		}
	}
	for id, own := range made {
		if !slices.ContainsFunc(posted, func(c record.Change) bool { return c.ID == id }) {
			k.Changes = append(k.Changes, change.Listed(a, id, own, now))
			k.Listed = append(k.Listed, id)
		}
	}
	slices.SortFunc(k.Changes, func(x, y record.Change) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.ID, y.ID)) })
	for _, c := range k.Changes {
		for i := range k.Changes {
			if c.State == record.StateDone {
				change.Affect(&k.Changes[i], c)
			}
		}
	}
	for i := range k.Changes {
		takeLonger(&k.Changes[i], made[k.Changes[i].ID])
	}
	slices.Sort(k.Listed)
	slices.Sort(k.Unknown)
	return k
}

// complete adds what a change's metadata has left out: what its rules say, and entries that it put in no other's place.
func complete(c *record.Change, made []apiclient.IPRule, rules []apiclient.Rule) {
	for i, s := range c.Steps {
		at := slices.IndexFunc(rules, func(r apiclient.Rule) bool { return r.ID == s.ID })
		if s.Kind == record.CreateRule && s.Rule.Type != apiclient.RuleMode && s.Rule.Point == nil && at >= 0 {
			c.Steps[i].Rule = &rules[at]
		}
	}
	over := slices.Clone(c.Steps)
	if c.State == record.StateFailed || c.State == record.StateUndone || c.Undoes != "" ||
		slices.ContainsFunc(over, func(s record.Step) bool { return len(s.Before) == 0 }) {
		return
	}
	for _, step := range change.AddedBy(*c, made) {
		part := func(s record.Step) bool { return efficacy.PartOf(*step.Entry, *c, s) }
		if !slices.ContainsFunc(over, part) {
			c.Steps = append(c.Steps, step)
		}
	}
}

// takeLonger moves a change's end to that of its entries, where they are listed for longer than any message says: not
// every renewal is posted.
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
