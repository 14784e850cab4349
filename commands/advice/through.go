package advice

import (
	"cmp"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
)

// Leak is a source that nothing denies, with its hits since the last change against the attack, or all where there was
// none.
type Leak struct {
	apiclient.Source

	Of     apiclient.Figure // hits of all such sources, since then
	Since  time.Time        // zero: there was no change
	Others int64            // sources beside it that nothing denies, at most
}

// Share is how many percent of what gets through the source sends.
func (l Leak) Share() (percent int, known bool) {
	return words.Share(l.Source, apiclient.Attack{Hits: l.Of})
}

// Through is the busiest source that gets through since the last change; ok is false if none is seen that does.
func Through(s call.Situation) (l Leak, ok bool) {
	open := uncovered(s)
	if len(open) == 0 {
		return l, false
	}
	return open[0], true
}

// uncovered are the sources that nothing denies and that sent hits since the last change, the busiest since then first.
func uncovered(s call.Situation) (all []Leak) {
	before, at := lastObserved(s)
	of, others := since(before.Hits, s.Attack.Hits), s.Attack.SourceCount.N-1
	for _, source := range s.Attack.Sources {
		source.Hits = since(hitsThen(before, source), source.Hits)
		switch {
		case covered(s, source):
			others--
			if !deniedInVain(s, source) {
				of = since(source.Hits, of)
			}
		case source.Hits.N > 0 || !source.Hits.Known:
			all = append(all, Leak{Source: source, Since: at})
		}
	}
	for i := range all {
		all[i].Of, all[i].Others = of, others
	}
	slices.SortStableFunc(all, func(x, y Leak) int { return cmp.Compare(y.Hits.N, x.Hits.N) })
	return all
}

// lastObserved is the attack as it was seen when the newest change in force against it was made; zero where there is
// none, or that isn't known.
func lastObserved(s call.Situation) (then apiclient.Attack, at time.Time) {
	for _, ch := range s.Changes {
		if ch.InForce(s.Now) && ch.Observed != nil && ch.At.After(at) && !efficacy.Gone(s, ch) {
			then, at = ch.Observed.Attack, ch.At
		}
	}
	return then, at
}

// hitsThen is how many hits a source had sent, at most: one that was not listed then had no more than each of those
// that were.
func hitsThen(then apiclient.Attack, source apiclient.Source) apiclient.Figure {
	i := slices.IndexFunc(then.Sources, func(s apiclient.Source) bool { return s.IP == source.IP })
	switch {
	case i >= 0:
		return then.Sources[i].Hits
	case efficacy.AllListed(then) || len(then.Sources) == 0:
		return apiclient.Known(0)
	}
	least := source.Hits
	for _, other := range then.Sources {
		if other.Hits.Known {
			least.N = min(least.N, other.Hits.N)
		}
	}
	return least
}

// since is what came since there were so many.
func since(before, now apiclient.Figure) apiclient.Figure {
	if before.Known && now.Known {
		now.N = max(0, now.N-before.N)
	}
	return now
}

// covered reports whether a denial holds for the source on the attack's application, whoever made it: also one that
// doesn't work, for another would do no more. The allowlist wins over all.
func covered(s call.Situation, source apiclient.Source) bool {
	return !efficacy.Allowed(s, source) && (efficacy.Listed(s, apiclient.ListDeny, source) != nil ||
		ownInForce(s, func(ch record.Change) bool { return denies(s, ch, source) }))
}

// deniedInVain reports whether a denial of wafbot's for the source is seen not to work.
func deniedInVain(s call.Situation, source apiclient.Source) bool {
	return ownInForce(s, func(ch record.Change) bool {
		return denies(s, ch, source) && s.Efficacy[ch.ID].Finding == record.NotWorking
	})
}

// denies reports whether a change put the source on the denylist.
func denies(s call.Situation, ch record.Change, source apiclient.Source) bool {
	return slices.ContainsFunc(ch.Steps, func(step record.Step) bool {
		return step.Kind == record.AddEntry && step.Done && step.Entry.List == apiclient.ListDeny &&
			efficacy.Holds(s, *step.Entry, source)
	})
}

// allowlisted reports whether every source of the attack is on the allowlist, so that nothing can stop it.
func allowlisted(s call.Situation) bool {
	a := s.Attack
	return len(a.Sources) > 0 && efficacy.AllListed(a) &&
		!slices.ContainsFunc(a.Sources, func(source apiclient.Source) bool { return !efficacy.Allowed(s, source) })
}

// stoppedForAll reports whether a patch or mode is seen to stop the attack, whatever its source and whoever made it. Of
// a mode of others nothing is seen.
func stoppedForAll(s call.Situation) bool {
	own := func(ch record.Change) bool {
		return s.Efficacy[ch.ID].Finding == record.Working && (ch.Line.Name == "patch" || ch.Line.Name == "mode")
	}
	working := func(m record.Mitigation) bool { return m.Rule && m.Finding == record.Working }
	return ownInForce(s, own) || s.Stopped.Patched.N > 0 && slices.ContainsFunc(efficacy.Mitigations(s), working)
}
