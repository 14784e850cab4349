package commands

import (
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// words say what was seen of a change; nothing while it need not work yet. A source that knocks goes on for so long after its last hit.
func (e Effect) words(c Change, ongoing time.Duration) Text {
	if keys := c.parts(); len(keys) > 1 {
		return e.several(keys, c, ongoing)
	}
	var t Traffic
	for _, one := range e.Parts {
		t = one
	}
	head := Bold(e.head())
	switch e.Finding {
	case Works:
		return Say(head, ": ", e.quiet(t, c), ", at least ", number64(t.Stopped.N), " stopped, the last ", t.Stopped.Last)
	case InPart:
		return Say(head, ": at least ", number64(t.Stopped.N), " stopped, ", t.leak())
	case NoEffect:
		if t.Stopped.N > 0 {
			return Say(Bold("works NO LONGER"), ": the last was stopped ", t.Stopped.Last, ", ", t.again())
		}
		return Say(head, ": ", t.leak())
	case Unseen:
		return Say(head, ": ", e.unseen(t, c))
	case CameBack:
		if t.After.N == 0 {
			return Say(head, ", the last time ", t.Stopped.Last)
		}
		return Say(head, ": ", number64(t.After.N), Plural(t.After.N, " hit"), " got through since ", t.After.First, ", the last ", t.After.Last)
	}
	return nil
}

// head says in as few words as can be what a change does; nothing while it need not work yet.
func (s Situation) head(c Change) Text {
	switch head := s.Effects[c.ID].head(); {
	case s.replaced(c):
		return Say(Bold("replaced"))
	case s.gone(c):
		return Say(Bold("no longer in force"))
	case s.unwatched(c):
		return Say(Bold(heads[Unseen]))
	case head != "":
		return Say(Bold(head))
	}
	return nil
}

// replaced reports whether a later change of wafbot's has taken away what this one made, so that nothing is to be seen of it any more.
func (s Situation) replaced(c Change) bool { return c.InForce(s.Now) && c.superseded(s.Known) }

// unwatched reports whether nobody could see what a change does, though it was due long ago: the service or wafbot was away, or wafbot's memory was emptied.
func (s Situation) unwatched(c Change) bool {
	const looked = 2 * time.Minute // by then somebody has
	return s.Effects[c.ID].Finding == NotYet && c.InForce(s.Now) && len(c.subjects()) > 0 && s.Now.Sub(c.At) > c.delays().Judged+looked
}

// Brief are words for a row of a listing, where there is no room for times and reasons.
func (s Situation) Brief(c Change) Text {
	line, e := s.head(c), s.Effects[c.ID]
	if len(line) > 0 && !s.gone(c) && (e.Finding == Works || e.Finding == InPart) {
		line = Say(line, ", at least ", number64(e.stopped()), " stopped")
	}
	return s.sooner(c, line)
}

// sooner puts before a line that somebody has the change end sooner, if so.
func (s Situation) sooner(c Change, line Text) Text {
	end := s.shortened(c)
	if end.IsZero() {
		return line
	}
	short := Say(Bold("somebody shortened it"), " at the service: it ends ", end)
	if len(line) == 0 {
		return short
	}
	return Say(short, "; ", line)
}

// heads are the findings in words, of one source or rule.
var heads = map[Finding]string{
	Works: "works", InPart: "works in part", NoEffect: "NO EFFECT", Unseen: "unknown whether it works", CameBack: "its source came back",
}

// head is the finding in words, as far as it is sure.
func (e Effect) head() string {
	through, back := false, false
	for _, t := range e.Parts {
		through, back = through || t.Through.N > 0, back || t.After.N > 0
	}
	switch {
	case e.Finding == InPart && !through:
		return "works, at least in part"
	case e.Finding == CameBack && !back:
		return "its source knocked to the end"
	}
	return heads[e.Finding]
}

// quiet says since when nothing got through, as far as it was watched.
func (e Effect) quiet(t Traffic, c Change) Text {
	return Say("nothing through since ", later(later(c.At, e.From), later(t.Through.Last, t.Mixed.Last)))
}

// leak says what got through, or may have.
func (t Traffic) leak() Text {
	if t.Through.N == 0 {
		return Say(number64(t.Mixed.N), Plural(t.Mixed.N, " more hit"), " in records that the service blocks in another way, in part or whole: whether any got through, nobody can tell")
	}
	return Say(number64(t.Through.N), Plural(t.Through.N, " hit"), " got through since ", t.Through.First, ", the last ", t.Through.Last)
}

// again says what gets through of what was stopped before. What got through before that doesn't count for it.
func (t Traffic) again() Text {
	if t.Through.First.Before(t.Stopped.Last) {
		return Say("hits get through again, the last ", t.Through.Last)
	}
	return t.leak()
}

// unseen says why nothing is known.
func (e Effect) unseen(t Traffic, c Change) Text {
	if t.Mixed.N > 0 {
		return Say("nothing was reported as stopped by it, and ", t.leak())
	}
	return Say("nothing of it was seen since ", later(later(c.At, e.From), later(t.Through.Last, t.Mixed.Last)), ", neither stopped nor let through: stopped or gone, nobody can tell")
}

// several says of a change that denies several sources what was seen of how many, and which it doesn't stop.
func (e Effect) several(keys []string, c Change, ongoing time.Duration) Text {
	if e.Finding == NotYet {
		return nil
	}
	var leaks, back, knocked []string
	stopped, hits, last := 0, int64(0), time.Time{}
	for _, key := range keys {
		t := e.Parts[key]
		through := later(t.Through.Last, t.Mixed.Last)
		switch {
		case t.After.N > 0:
			back = append(back, key)
		case e.Finding == CameBack && t.knockedTo(c.Until, ongoing):
			knocked = append(knocked, key)
		case t.Through.N+t.Mixed.N > 0 && through.After(t.Stopped.Last):
			leaks, last = append(leaks, key), later(last, through)
		case t.Stopped.N > 0:
			stopped, hits = stopped+1, hits+t.Stopped.N
		}
	}
	switch {
	case len(back) > 0:
		return Say(Bold("sources came back"), ": ", naming(back))
	case len(knocked) > 0:
		return Say(Bold("sources knocked to the end"), ": ", naming(knocked))
	}
	line := Say(Bold(e.head()), ": stops ", stopped, " of ", count(len(keys), "source"))
	if stopped > 0 {
		line = Say(line, " (at least ", number64(hits), Plural(hits, " hit"), ")")
	}
	if rest := len(keys) - stopped - len(leaks); rest > 0 {
		line = Say(line, ", ", rest, " not seen since ", later(c.At, e.From))
	}
	if len(leaks) > 0 {
		return Say(line, ", gets through: ", naming(leaks), ", the last ", last)
	}
	return line
}

// naming names the first three.
func naming(keys []string) Text {
	var line Text
	for i, key := range keys[:min(3, len(keys))] {
		if i > 0 {
			line = Say(line, ", ")
		}
		line = Say(line, Code(key))
	}
	if more := len(keys) - 3; more > 0 {
		line = Say(line, " and ", more, " more")
	}
	return line
}

func number64(n int64) string { return apiclient.Known(n).String() }

// shouldWork says when a change is to work, once it was accepted: which is when it can be judged at the soonest, or why it can't.
func (c Change) shouldWork() Text {
	by := Text(nil)
	switch {
	case c.Extends != "":
		return c.accepted()
	case c.When == entryWorks:
		by = Say("accepted by the service, due ", c.At.Add(entryDelays.Works))
	case c.When == ruleWorks:
		by = Say("accepted by the service, compiling, due by ", c.At.Add(ruleDelays.Works))
	default:
		return c.accepted()
	}
	if why := c.unseeable(); why != "" {
		return Say(by, "; whether it works can't be seen: ", why)
	}
	return by
}

// EffectLine is what was seen of a change of the situation, and why it may do nothing, or that it ended; nothing while it need not work yet and still can.
func (s Situation) EffectLine(c Change) Text {
	line := s.seen(c)
	switch ended := c.State == StateDone && !c.InForce(s.Now); {
	case c.overdue(s.Now):
		return Say(Bold("should have ended"), ", and is tried each minute")
	case ended && len(line) > 0:
		return Say(Bold("ended"), ", ", line)
	case ended:
		return Say(Bold("ended"))
	}
	return s.sooner(c, line)
}

func (s Situation) seen(c Change) Text {
	e := s.Effects[c.ID]
	line := e.words(c, s.Account.OngoingFor)
	hindrances := s.hindrances(c)
	switch {
	case c.expired(s.Now) && e.Finding != CameBack:
		return nil
	case s.replaced(c):
		return Say(Bold("replaced"), " by a later change")
	case e.Finding == NoEffect:
		return Say(line, ". Likely: ", joined(s.Likely(c), "; "))
	case s.gone(c):
		return Say(Bold("no longer in force"), ": somebody removed or changed it at the service")
	case s.unwatched(c):
		return Say(Bold(heads[Unseen]), ": it was due ", c.At.Add(c.delays().Works), ", and nobody could look since")
	case e.Finding == Unseen && s.aimedElsewhere(c):
		return Say(Bold(e.head()), ": ", s.notHere(c), ", and nothing was seen there")
	case (e.Finding == Unseen || e.Finding == InPart) && len(hindrances) > 0:
		return Say(line, ". Likely: ", joined(hindrances, "; "))
	case e.Finding == Unseen && s.unlisted(c):
		return Say(line, "; the service lists only the top sources, and it is not among them")
	}
	return line
}

// NoEffectLines say that a change does nothing though it should, and why that may be, or that what it denied came back.
func (s Situation) NoEffectLines(c Change) []Text {
	lines := []Text{Say(Bold(c.Does), ": ", s.Effects[c.ID].words(c, s.Account.OngoingFor))}
	if s.Effects[c.ID].Finding == NoEffect {
		lines = append(lines, Say("Likely: ", joined(s.Likely(c), "; ")))
	}
	if c.AttackID != "" {
		lines[0] = Say(lines[0], " ", Code(c.AttackID))
	}
	return lines
}

// Replaced reports whether others deny what the change denied until it expired.
func (s Situation) Replaced(c Change) bool {
	return c.expired(s.Now) && !slices.ContainsFunc(c.denied(), func(addr netip.Addr) bool {
		return !slices.ContainsFunc(s.Entries, func(e apiclient.IPRule) bool {
			return e.List == apiclient.ListDeny && e.Kind == apiclient.KindRange && e.Subnet.Contains(addr)
		})
	})
}

// unlisted reports whether a denied source may go on in the attack's record without being listed.
func (s Situation) unlisted(c Change) bool {
	cut := s.Attack.SourceCount.Known && s.Attack.SourceCount.N > int64(len(s.Attack.Sources))
	return cut && slices.ContainsFunc(c.subjects(), func(sub subject) bool {
		return sub.target != nil && !slices.ContainsFunc(s.Attack.Sources, sub.target.holds)
	})
}
