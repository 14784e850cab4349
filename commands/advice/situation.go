package advice

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// topSource is the busiest source that the service lists; of a storm the one behind most of it, with its hits as far as
// they are known.
func topSource(s call.Situation) (apiclient.Source, bool) {
	if s.Storm == nil {
		return call.TopSource(s.Attack)
	}
	if i := slices.IndexFunc(s.Attack.Sources, func(one apiclient.Source) bool { return one.IP == s.Storm.Source }); i >= 0 {
		return s.Attack.Sources[i], true
	}
	return apiclient.Source{IP: s.Storm.Source, Country: s.Storm.Country}, s.Storm.Source.IsValid()
}

// listedEntry is the entry that holds for a source of the attack, if there is one, and where and until when it does.
func listedEntry(s call.Situation, list string, source apiclient.Source) (e *apiclient.IPRule, where text.Text) {
	if e = efficacy.Listed(s, list, source); e == nil {
		return nil, nil
	}
	if !call.Everywhere(e.Apps) {
		where.Addf(" for %v", s.Account.AppName(s.Attack.App))
	}
	return e, text.New(where, words.Until(e.Expires))
}

// watchedOnly reports whether the nodes of the attack's application, or of all that a storm is on, only watch, so that
// nothing stops it there.
func watchedOnly(s call.Situation) bool {
	watched := func(app int64) bool { return s.Account.Applications[int(app)].CannotBlock() }
	if s.Storm == nil {
		return s.Attack.App.Known && watched(s.Attack.App.N)
	}
	apps := slices.Collect(maps.Keys(s.Storm.Apps))
	return len(apps) > 0 && len(slices.DeleteFunc(apps, watched)) == 0
}

// deniedSources finds the attack's sources that must never be denied and are, by an entry that wafbot didn't make: it
// may shut customers out, which matters more than the attack. Each entry has a button that takes it off.
func deniedSources(s call.Situation) (lines text.Lines, open []call.Suggestion) {
	sources := s.Attack.Sources
	if top, ok := topSource(s); ok {
		sources = append([]apiclient.Source{top}, sources...)
	}
	var seen []int64
	for _, source := range sources {
		own, named := s.Policy.SourceOf(source)
		if !named || own.Deny == config.DenyApproval {
			continue
		}
		e, where := listedEntry(s, apiclient.ListDeny, source)
		if e == nil || slices.Contains(seen, e.ID) {
			continue
		}
		seen = append(seen, e.ID)
		line := text.Newf("*%v IS DENIED*%v: customers may be shut out", text.Sanitize(own.Name, text.MaxField/2), where)
		if s.Policy.ChangesNow() == config.ChangesOff {
			lines.Addf("%v. Take `%v` off the denylist in the service's console", line, words.Sources(*e))
			continue
		}
		lines.Addf("%v. An admin takes it off: `remove %v list=black`", line, words.Sources(*e))
		open = append(open, call.Suggestion{
			Label:  "End deny of " + text.Sanitize(own.Name, 12),
			Spoken: "Take " + text.Sanitize(own.Name, 30) + " off the denylist",
			Line:   lineFor(s, "remove", fmt.Sprint(e.ID)),
		})
	}
	return lines, open
}

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
	of, others := since(before.Hits, s.Attack.Hits), s.Attack.SourceCount.N
	for _, source := range s.Attack.Sources {
		source.Hits = since(hitsThen(before, source), source.Hits)
		switch {
		case covered(s, source):
			others -= max(1, source.Addresses)
			if !deniedInVain(s, source) {
				of = since(source.Hits, of)
			}
		case source.Hits.N > 0 || !source.Hits.Known:
			all = append(all, Leak{Source: source, Since: at})
		}
	}
	for i := range all {
		all[i].Of, all[i].Others = of, others-max(1, all[i].Addresses)
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
	return slices.ContainsFunc(ch.Did(record.AddEntry), func(step record.Step) bool {
		return step.Entry.List == apiclient.ListDeny && efficacy.Holds(s, *step.Entry, source)
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
