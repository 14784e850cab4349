package change

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func (u *undoing) note(s text.Sentence, values ...any) { u.plan.Notes.Addf(s, values...) }

func (u *undoing) add(s record.Step) { u.plan.Steps = append(u.plan.Steps, s) }

// undoAdd takes the entry off if it is still ours, and puts back what stood there before.
func (u *undoing) undoAdd(s record.Step) {
	if KeepsRest(s) {
		return
	}
	left, changed := entriesLeft(u.Call, u.entries, u.change, s)
	gone := func(e apiclient.IPRule) bool { return efficacy.SameSource(e, *s.Entry) }
	if changed != nil {
		u.note("%v", changed)
	}
	for _, e := range left {
		u.add(record.Step{Kind: record.DeleteEntry, Entry: &e})
	}
	if len(left) > 0 {
		for _, before := range s.Before {
			if !u.neverDenied(before) && before.Lasts(u.Now) && !u.undoneSince(before) {
				u.add(record.Step{Kind: record.AddEntry, Entry: asBefore(before)})
				u.note("%v is on the %v%v again, as before%v", words.Sources(before), words.ListName(before.List),
					words.Until(before.Expires), words.Author(before))
			}
		}
		gone = func(e apiclient.IPRule) bool {
			return slices.ContainsFunc(slices.Concat(left, s.Before), func(l apiclient.IPRule) bool { return l.ID == e.ID })
		}
	}
	u.noteCovering(*s.Entry, gone)
}

// KeepsRest reports whether a step only keeps the rest of an entry from which a source was taken: then there is nothing
// to undo, and the entry is whose it was before.
func KeepsRest(s record.Step) bool {
	return len(s.Before) == 1 && s.Before[0].Reason == s.Entry.Reason && s.Before[0].Expires.Equal(s.Entry.Expires)
}

// undoRemoval puts an entry back that was taken off.
func (u *undoing) undoRemoval(e apiclient.IPRule) {
	if !e.Lasts(u.Now) {
		u.note("the entry for %v would have ended by now", words.Sources(e))
		return
	}
	for _, have := range u.entries {
		if efficacy.SameEntry(have, e) {
			u.note("%v is on the %v again already%v", words.Sources(e), words.ListName(e.List), words.Author(have))
			return
		}
	}
	if !u.neverDenied(e) {
		u.add(record.Step{Kind: record.AddEntry, Entry: asBefore(e)})
	}
}

// entriesLeft are the entries that are left of the one that a step made. Some of its sources may have been removed
// since. If none is left, or others changed one, it says what happened.
func entriesLeft(c *call.Call, entries []apiclient.IPRule, ch record.Change, s record.Step) (left []apiclient.IPRule,
	changed text.Text) {
	for _, e := range entries {
		switch {
		case !efficacy.PartOf(e, ch, s):
		case !efficacy.SameApps(e, *s.Entry) || !e.Expires.IsZero() && !gaveEnd(c, ch, e):
			changed = text.Newf("the entry for %v was changed since: it holds %v%v, left as it is",
				words.Sources(e), call.AppsText(c.Account, e.Apps), words.Until(e.Expires))
		default:
			left = append(left, e)
		}
	}
	if len(left) > 0 || changed != nil {
		return left, changed
	}
	sources := words.Sources(*s.Entry)
	for _, e := range entries {
		if efficacy.SameSource(e, *s.Entry) {
			return nil, text.Newf("the entry for %v is another author's now%v, left as it is", sources, words.Author(e))
		}
	}
	return nil, text.Newf("the entry for %v is gone already", sources)
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
func (u *undoing) undoneSince(e apiclient.IPRule) bool {
	return slices.ContainsFunc(u.Changes, func(ch record.Change) bool {
		return ch.State == record.StateUndone && efficacy.NamedBy(e, ch)
	})
}

// asBefore is an entry as it was, to be added again. One without a known end gets the latest there is: never shorter
// than it was.
func asBefore(e apiclient.IPRule) *apiclient.IPRule {
	e.Expires, e.Reason = endOfEntry(e.Expires), cmp.Or(e.Reason, "put back by wafbot")
	return &e
}

// neverDenied reports whether an entry must not come back because what it is about is never denied by now, and says so.
func (u *undoing) neverDenied(e apiclient.IPRule) bool {
	if e.List == apiclient.ListAllow {
		return false
	}
	for _, t := range grammar.TargetsOf(e) {
		if own, ok := u.PolicyNow().Never(t); ok {
			u.note("%v is *%v* by now, which is never denied: its entry doesn't come back", words.Sources(e), own.Name)
			return true
		}
	}
	return false
}

// noteCovering names the other entries that still hold for the sources of a removed one: those that cover its
// addresses, and those for a country that the attack's sources come from. Only the service knows who is in a data
// center or behind a proxy.
func (u *undoing) noteCovering(off apiclient.IPRule, gone func(apiclient.IPRule) bool) {
	country := u.countryOf(off)
	for _, e := range u.entries {
		from := e.Kind == apiclient.KindCountry && country != "" && slices.Contains(e.Values, country)
		if gone(e) || !call.Overlap(e.Apps, off.Apps) || !from && !efficacy.Covers(e, off) {
			continue
		}
		where := ""
		if !call.Everywhere(e.Apps) {
			where = " " + call.AppsText(u.Account, e.Apps)
		}
		u.note("still on the %v: %v covers it%v%v%v", words.ListName(e.List), words.Sources(e), where, words.Until(e.Expires),
			words.Author(e))
	}
}

// countryOf is where an entry's address comes from, as the attack says that it was denied for; "" if that is not known.
func (u *undoing) countryOf(e apiclient.IPRule) string {
	if u.change.AttackID == "" || !efficacy.OneAddress(e) {
		return ""
	}
	for _, s := range u.Facts.Known.Value.Value.Sources {
		if s.IP.Unmap() == e.Subnet.Addr().Unmap() {
			return s.Country
		}
	}
	return ""
}

// undoCreate deletes the rule that was made if it is still there and the same.
func (u *undoing) undoCreate(s record.Step) {
	id := efficacy.CurrentRule(u.Changes, s.ID)
	if s.Again { // what was made by the first try, whose answer never came, is ours too
		for _, r := range u.rules {
			if r.ID != id && apiclient.SameRule(r, *s.Rule) && !slices.Contains(s.Equal, r.ID) {
				u.add(record.Step{Kind: record.DeleteRule, Rule: &r})
			}
		}
	}
	for _, r := range u.rules {
		switch {
		case r.ID != id:
			continue
		case apiclient.SameRule(r, *s.Rule):
			u.add(record.Step{Kind: record.DeleteRule, Rule: &r})
		default:
			u.note("rule `%v` was changed since: left as it is", id)
		}
		return
	}
	u.note("rule `%v` is gone already", id)
}

// undoDelete creates the rule again that was deleted, unless an equal one is there, or another was set in place of
// ours.
func (u *undoing) undoDelete(s record.Step) {
	var made []int64
	for _, m := range u.change.Did(record.CreateRule) {
		made = append(made, efficacy.CurrentRule(u.Changes, m.ID))
		if !ruleStands(u.Call, u.rules, m) {
			u.note("what wafbot had set was deleted or changed, so the old rule is not put back")
			return
		}
	}
	old := ruleBefore(u.Call, s.Rule)
	if old == nil || !heldFirst(u.change, s) {
		return
	}
	equal := slices.DeleteFunc(efficacy.EqualRules(u.rules, *old),
		func(id int64) bool { return slices.Contains(made, id) })
	if len(equal) > 0 {
		u.note("a rule like the old one is there already: `%v`", strings.Trim(fmt.Sprint(equal), "[]"))
		return
	}
	u.add(record.Step{Kind: record.CreateRule, Rule: old})
}

// heldFirst reports whether a step deleted the first of the rules for the same requests that a change deleted: of
// several modes that one held, and of doubles one comes back.
func heldFirst(ch record.Change, s record.Step) bool {
	for _, first := range ch.Did(record.DeleteRule) {
		if apiclient.SameConditions(first.Rule.Conditions, s.Rule.Conditions) && first.Rule.Type == s.Rule.Type {
			return s.Rule.Type != apiclient.RuleMode || first.Rule.ID == s.Rule.ID
		}
	}
	return true
}

// ruleStands reports whether the rule that a step made is still there and the same.
func ruleStands(c *call.Call, rules []apiclient.Rule, made record.Step) bool {
	id := efficacy.CurrentRule(c.Changes, made.ID)
	return slices.ContainsFunc(rules, func(r apiclient.Rule) bool {
		return r.ID == id && apiclient.SameRule(r, *made.Rule)
	})
}

// ruleBefore is the rule to put back for one that a change had replaced. Where wafbot itself had set that one, for a
// time that is over by now, it is the one before it: what was set for a time must not come back for good. Nil: there
// was none.
func ruleBefore(c *call.Call, rule *apiclient.Rule) *apiclient.Rule {
	makers := ChangesByRule(c)
	for range c.Changes {
		maker, ours := makers[efficacy.CurrentRule(c.Changes, rule.ID)]
		if !ours || maker.InForce(c.Now) {
			break
		}
		deleted := maker.Did(record.DeleteRule)
		if len(deleted) == 0 {
			return nil
		}
		rule = deleted[0].Rule
	}
	return rule
}
