// Package efficacy judges whether mitigations work, by what the service lists of their sources and places.
//
// After each complete poll the poller calls its one hook, Watch.Judge, and saves what it gives in the script that saves
// the poll. It judges with one pure function, judge.part: what was seen of a source or rule in, what that means out.
//
//   - A change of wafbot's is judged by what came since it was made, wherever the service lists it: observe adds that up
//     in the change's Efficacy, part by part. What people did is in the store at once, so a card shows a change that
//     isn't judged yet.
//   - What others have in force, and entries of wafbot's that name no source, are judged by Others: by the tally of what
//     was stopped that the poller saves with each attack, and by its last hit. That is AttackState.Others.
//
// Who draws reads both through Mitigations and judges nothing. The sentences are in line.go, the likely reasons in
// reasons.go; entries.go says what stands at the service.
package efficacy

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
)

// delays are how long after a change was accepted something can be said about it.
type delays struct {
	works  time.Duration // it works, as the service promises
	counts time.Duration // what gets through from now on does so for sure: the service lists hits with a delay
	judged time.Duration // it is judged by what got through
}

// What the service takes: entries reach its nodes about once a minute; rules are compiled, which takes up to an hour,
// and then synchronised.
var (
	entryDelays = delays{works: words.EntryWorksAfter, counts: 3 * time.Minute, judged: 6 * time.Minute}
	ruleDelays  = delays{works: words.RuleWorksAfter, counts: 65 * time.Minute, judged: 70 * time.Minute}
)

// settling is how long after something was stopped for the first time hits can still get through or be listed: the
// nodes follow one by one.
const settling = 5 * time.Minute

// worksAgainAfter is how long a change that did not work is to have worked, before users are mentioned because it fails
// again: one that comes and goes must not mention them each time.
const worksAgainAfter = 3 * settling

// expiredFor is how long it is watched whether the source of an expired denial comes back.
const expiredFor = time.Hour

// delaysOf are those of the change.
func delaysOf(c record.Change) delays {
	if slices.ContainsFunc(c.Steps, func(s record.Step) bool { return s.Rule != nil }) {
		return ruleDelays
	}
	return entryDelays
}

// judge is how an account's changes are judged: by the real service's delays, and sooner where it is an emulated one
// that is faster.
type judge struct{ speed float64 }

func (j judge) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / cmp.Or(j.speed, 1))
}

// observe takes what a snapshot shows in. The change was accepted before.
func (j judge) observe(e record.Efficacy, c record.Change, seen []delta) record.Efficacy {
	d, subjects, parts := delaysOf(c), subjectsOf(c), map[string]record.Traffic{}
	maps.Copy(parts, e.Parts)
	for _, g := range seen {
		for _, s := range subjects {
			came, as := s.of(g)
			if came.n == 0 {
				continue
			}
			switch t := parts[s.key]; {
			case !c.Expired(came.since):
				t = addTraffic(t, came, as, c.At.Truncate(time.Second), j.countsFrom(t.Stopped.First, c.At, d))
				if g.turned && as == apiclient.StatusPartly && s.rule != nil {
					t.Stopped = addTally(t.Stopped, growth{1, came.since, came.last})
				}
				if t != (record.Traffic{}) {
					parts[s.key] = t
				}
			case as == apiclient.StatusNotBlocked:
				t.After = addTally(t.After, came)
				parts[s.key] = t
			}
		}
	}
	if len(parts) > 0 {
		e.Parts = parts
	}
	return e
}

// finding is what the change does, by all that was seen of it until now. A source that still tries goes on for so long
// after its last hit.
func (j judge) finding(e record.Efficacy, c record.Change, now time.Time, ongoing time.Duration) record.Finding {
	if c.Expired(now) {
		return e.Afterwards(c, ongoing)
	}
	found := map[record.Finding]bool{}
	for _, key := range partsOf(c) {
		found[j.part(e.Parts[key], c.At, delaysOf(c), now)] = true
	}
	switch {
	case found[record.NotWorking] && !found[record.Working] && !found[record.PartlyWorking]:
		return record.NotWorking
	case found[record.NotWorking] || found[record.PartlyWorking]:
		return record.PartlyWorking
	case found[record.Working]:
		return record.Working
	case found[record.NotYet]:
		return record.NotYet
	}
	return record.EfficacyUnknown
}

// partsOf are the keys of all that the change is judged by, in its own order.
func partsOf(c record.Change) (keys []string) {
	for _, s := range subjectsOf(c) {
		keys = append(keys, s.key)
	}
	return keys
}

// countsFrom is from when on what gets through counts against what was made then, and first stopped something then.
func (j judge) countsFrom(first, made time.Time, d delays) time.Time {
	from := made.Add(j.scaled(d.counts))
	if first.IsZero() {
		return from
	}
	return record.Earlier(first.Add(j.scaled(settling)), from)
}

// part judges by what was seen of one source, or of a rule, since it was made.
func (j judge) part(t record.Traffic, made time.Time, d delays, now time.Time) record.Finding {
	since, last := now.Sub(made), lastThrough(t)
	stopped, through, counted := t.Stopped.N > 0, t.Through.N > 0, t.Through.N+t.Mixed.N > 0
	switch {
	case stopped && through && t.Through.Last.Sub(t.Stopped.Last) > j.scaled(settling):
		return record.NotWorking // no longer
	case stopped && now.Sub(last) > j.scaled(settling),
		stopped && !counted && (last.Before(t.Stopped.Last) || since >= j.scaled(d.counts)):
		return record.Working
	case stopped && counted:
		return record.PartlyWorking
	case stopped, since < j.scaled(d.counts), through && since < j.scaled(d.judged):
		return record.NotYet
	case through:
		return record.NotWorking
	}
	return record.EfficacyUnknown
}

// watched reports whether something is to be seen of a change: it is in force, or was a denial that expired lately.
func watched(c record.Change, all []record.Change, now time.Time) bool {
	inForce := c.InForce(now)
	lately := c.State == record.StateDone && c.Expired(now) && now.Sub(c.Until) < expiredFor &&
		len(DeniedAddresses(c)) > 0 && !deniedElsewhere(c, all, now)
	return (inForce || lately) && !Superseded(c, all)
}

// deniedElsewhere reports whether another change denies one of its addresses.
func deniedElsewhere(c record.Change, all []record.Change, now time.Time) bool {
	return slices.ContainsFunc(all, func(other record.Change) bool {
		return other.ID != c.ID && other.Parent() == "" && other.InForce(now) &&
			slices.ContainsFunc(subjectsOf(other), func(s subject) bool {
				return s.target != nil && slices.ContainsFunc(DeniedAddresses(c), s.target.Prefix.Contains)
			})
	})
}

// Superseded reports whether a change made since has taken away what this one made.
func Superseded(c record.Change, all []record.Change) bool { return supersededBy(c, all) != nil }

// supersededBy is the first change that has taken away what this one made; nil: none has. It goes by index: each card
// asks it of each change, and few delete anything.
func supersededBy(c record.Change, all []record.Change) *record.Change {
	for i := range slices.Backward(all) {
		for j := range all[i].Steps {
			s := &all[i].Steps[j]
			takes := func(made record.Step) bool {
				return made.Done && (made.Kind == record.CreateRule && s.Rule != nil && s.Rule.ID == CurrentRule(all, made.ID) ||
					made.Kind == record.AddEntry && s.Entry != nil && ours(*s.Entry, c, made))
			}
			deletes := s.Kind == record.DeleteRule || s.Kind == record.DeleteEntry
			if deletes && s.Done && all[i].State != record.StateUndone && slices.ContainsFunc(c.Steps, takes) {
				return &all[i]
			}
		}
	}
	return nil
}

// InPlace are the changes that hold, or should have ended and have not. An extension or undo counts to the change that
// it is for.
func InPlace(all []record.Change, now time.Time) (held []record.Change) {
	for _, ch := range all {
		if (ch.InForce(now) || ch.Overdue(now)) && ch.Parent() == "" && !Superseded(ch, all) {
			held = append(held, ch)
		}
	}
	return held
}

// CurrentRule is the number that a rule has by now: when an undo creates it again, it gets a new one.
func CurrentRule(known []record.Change, id int64) int64 {
	for _, ch := range slices.Backward(known) {
		for _, s := range ch.Steps {
			if s.Kind == record.CreateRule && s.Done && s.Rule.ID == id {
				id = s.ID
			}
		}
	}
	return id
}
