package change

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// undoAdd takes the entry off if it is still ours, and puts back what stood there before.
func undoAdd(c *call.Call, p *call.Plan, ch record.Change, s record.Step) error {
	entries, err := c.Given().Entries(apiclient.IPRuleFilter{List: s.Entry.List})
	if err != nil {
		return err
	}
	i, changed := entryLeft(c, entries, ch, s)
	ours := func(e apiclient.IPRule) bool { return efficacy.SameSource(e, *s.Entry) }
	if changed != nil {
		p.Notes = append(p.Notes, changed)
	} else {
		p.Steps = append(p.Steps, record.Step{Kind: record.DeleteEntry, Entry: &entries[i]})
		bringBack(c, p, s.Before)
		ours = func(e apiclient.IPRule) bool {
			return e.ID == entries[i].ID || slices.ContainsFunc(s.Before, func(b apiclient.IPRule) bool { return b.ID == e.ID })
		}
	}
	notes, err := covering(c, ch, *s.Entry, slices.DeleteFunc(slices.Clone(entries), ours))
	p.Notes = append(p.Notes, notes...)
	return err
}

// bringBack plans to put back what an entry had taken the place of.
func bringBack(c *call.Call, p *call.Plan, all []apiclient.IPRule) {
	for _, before := range all {
		if neverDenied(c, p, before) {
			continue
		}
		if (before.Expires.IsZero() || before.Expires.After(c.Now)) && !undoneSince(c, before) {
			p.Steps = append(p.Steps, record.Step{Kind: record.AddEntry, Entry: asBefore(before)})
			p.Notes = append(p.Notes, text.New(describe.EntrySources(before), " is on the ", describe.ListName(before.List), describe.Until(before.Expires), " again, as before", describe.EntryAuthor(before)))
		}
	}
}

// entryLeft finds the entry that a step made, if it still stands as wafbot left it; otherwise it says what became of it.
func entryLeft(c *call.Call, entries []apiclient.IPRule, ch record.Change, s record.Step) (int, text.Text) {
	i := slices.IndexFunc(entries, func(e apiclient.IPRule) bool { return efficacy.Ours(e, ch, s) })
	if i < 0 {
		j := slices.IndexFunc(entries, func(e apiclient.IPRule) bool { return efficacy.SameSource(e, *s.Entry) })
		if j < 0 {
			return -1, text.New("the entry for ", describe.EntrySources(*s.Entry), " is gone already")
		}
		return -1, text.New("the entry for ", describe.EntrySources(*s.Entry), " is somebody else's now", describe.EntryAuthor(entries[j]), ", left as it is")
	}
	if e := entries[i]; !efficacy.SameEntry(e, *s.Entry) || !e.Expires.IsZero() && !gaveEnd(c, ch, e) {
		return -1, text.New("somebody changed the entry for ", describe.EntrySources(*s.Entry), " since: it holds ", c.Account.AppsText(e.Apps), describe.Until(e.Expires), ", left as it is")
	}
	return i, nil
}

// gaveEnd reports whether wafbot itself gave the entry its end: when the change was made, or prolonged.
func gaveEnd(c *call.Call, ch record.Change, e apiclient.IPRule) bool {
	return slices.ContainsFunc(c.Changes, func(k record.Change) bool {
		return (k.ID == ch.ID || k.Extends == ch.ID) && slices.ContainsFunc(k.Steps, func(s record.Step) bool {
			return s.Kind == record.AddEntry && s.Sent && s.Entry.Expires.Equal(e.Expires)
		})
	})
}

// undoneSince reports whether an entry was the work of a change that has been undone.
func undoneSince(c *call.Call, e apiclient.IPRule) bool {
	return slices.ContainsFunc(c.Changes, func(ch record.Change) bool {
		return ch.State == record.StateUndone && efficacy.NamedBy(e, ch)
	})
}

// asBefore is an entry as it was, to be added again. One without a known end gets the latest there is: never shorter than it was.
func asBefore(e apiclient.IPRule) *apiclient.IPRule {
	if e.Expires.IsZero() {
		e.Expires = apiclient.Forever
	}
	if e.Reason == "" {
		e.Reason = "put back by wafbot"
	}
	return &e
}

func putBack(c *call.Call, p *call.Plan, e apiclient.IPRule) error {
	if !e.Expires.IsZero() && !e.Expires.After(c.Now) {
		p.Notes = append(p.Notes, text.New("the entry for ", describe.EntrySources(e), " would have ended by now"))
		return nil
	}
	entries, err := c.Given().Entries(apiclient.IPRuleFilter{List: e.List})
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(entries, func(have apiclient.IPRule) bool { return efficacy.SameEntry(have, e) }); i >= 0 {
		p.Notes = append(p.Notes, text.New(describe.EntrySources(e), " is on the ", describe.ListName(e.List), " again already", describe.EntryAuthor(entries[i])))
		return nil
	}
	if !neverDenied(c, p, e) {
		p.Steps = append(p.Steps, record.Step{Kind: record.AddEntry, Entry: asBefore(e)})
	}
	return nil
}

// neverDenied reports whether an entry must not come back because what it is about is never denied by now, and says so.
func neverDenied(c *call.Call, p *call.Plan, e apiclient.IPRule) bool {
	if e.List == apiclient.ListAllow {
		return false
	}
	for _, t := range grammar.TargetsOf(e) {
		if own, ok := c.PolicyNow().Never(t); ok {
			p.Notes = append(p.Notes, text.New(describe.EntrySources(e), " is ", text.Bold(own.Name), " by now, which is never denied: its entry doesn't come back"))
			return true
		}
	}
	return false
}

// covering names the other entries of a list that go on holding for the sources of one that is taken off: those that cover its addresses,
// and those for a country from which the attack that it was made for says that they come. Who is in a data center or behind a proxy only the
// service knows.
func covering(c *call.Call, ch record.Change, off apiclient.IPRule, others []apiclient.IPRule) (notes []text.Text, err error) {
	country := ""
	if slices.ContainsFunc(others, func(e apiclient.IPRule) bool { return e.Kind == apiclient.KindCountry }) {
		if country, err = countryOf(c, ch, off); err != nil {
			return nil, err
		}
	}
	for _, e := range others {
		from := e.Kind == apiclient.KindCountry && country != "" && slices.Contains(e.Values, country)
		if !call.Overlap(e.Apps, off.Apps) || !from && !efficacy.CoversEntry(e, off) {
			continue
		}
		note := text.New("still on the ", describe.ListName(e.List), ": ", describe.EntrySources(e), " covers it")
		if !call.Everywhere(e.Apps) {
			note = text.New(note, " ", c.Account.AppsText(e.Apps))
		}
		notes = append(notes, text.New(note, describe.Until(e.Expires), describe.EntryAuthor(e)))
	}
	return notes, nil
}

// countryOf is where an entry's address comes from, as the attack tells that it was denied for; "" if that is not known.
func countryOf(c *call.Call, ch record.Change, e apiclient.IPRule) (string, error) {
	if ch.AttackID == "" || !efficacy.OneAddress(e) {
		return "", nil
	}
	known, err := c.Facts(c.Account.Name).KnownAttacks(ch.AttackID)
	if err != nil {
		return "", refusal.Away(err)
	}
	for _, s := range known[ch.AttackID].Sources {
		if s.IP.Unmap() == e.Subnet.Addr().Unmap() {
			return s.Country, nil
		}
	}
	return "", nil
}
