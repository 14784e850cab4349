package efficacy

import (
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// observed says what was seen of a change; nothing while it need not work yet. A source counts as trying for the time
// ongoing after its last hit.
func observed(e record.Efficacy, c record.Change, ongoing time.Duration) text.Text {
	if keys := partsOf(c); len(keys) > 1 {
		return observedSources(e, keys, c, ongoing)
	}
	var t record.Traffic
	for _, one := range e.Parts {
		t = one
	}
	head, stopped, through := text.Bold(finding(e)), text.Number(t.Stopped.N), gotThrough(t)
	quiet := record.Later(record.Later(c.At, e.From), lastThrough(t)) // since when nothing got through, as far as it was watched
	switch e.Finding {
	case record.Working:
		return text.Newf("%v: nothing through since %v, at least %v stopped, the last %v", head, quiet, stopped,
			t.Stopped.Last)
	case record.PartlyWorking:
		return text.Newf("%v: at least %v stopped, %v", head, stopped, through)
	case record.NotWorking:
		if t.Stopped.N == 0 {
			return text.Newf("%v: %v", head, through)
		}
		if t.Through.First.Before(t.Stopped.Last) { // what got through before that doesn't count for it
			through = text.New("hits get through again, the last ", t.Through.Last)
		}
		return text.Newf("*NO LONGER working*: the last was stopped %v, %v", t.Stopped.Last, through)
	case record.EfficacyUnknown:
		if t.Mixed.N > 0 {
			return text.Newf("%v: nothing was reported as stopped by it, and %v", head, through)
		}
		return text.Newf("%v: nothing of it was seen since %v, neither stopped nor let through: whether stopped or gone is unknown",
			head, quiet)
	case record.SourceReturned:
		if t.After.N == 0 {
			return text.New(head, ", the last time ", t.Stopped.Last)
		}
		return text.Newf("%v: %v", head, passed(t.After))
	}
	return nil
}

// head says in as few words as can be what a change does; nothing while it need not work yet.
func head(s call.Situation, c record.Change) text.Text {
	switch head := finding(s.Efficacy[c.ID]); {
	case replaced(s, c):
		return text.Lead("replaced")
	case Gone(s, c):
		return text.Lead("no longer in force")
	case unwatched(s, c):
		return text.Lead(heads[record.EfficacyUnknown])
	case head != "":
		return text.Lead(head)
	}
	return nil
}

// replaced reports whether a later change of wafbot's has taken away what this one made, so that nothing is to be seen
// of it any more.
func replaced(s call.Situation, c record.Change) bool {
	return c.InForce(s.Now) && Superseded(c, s.AccountChanges)
}

// unwatched reports whether a change was not observed though it was due long ago: the service or wafbot was away, or
// wafbot's store was emptied.
func unwatched(s call.Situation, c record.Change) bool {
	const polled = 2 * time.Minute // by then a poll has seen it
	return s.Efficacy[c.ID].Finding == record.NotYet && c.InForce(s.Now) && s.Now.Sub(c.At) > delaysOf(c).judged+polled &&
		len(subjectsOf(c)) > 0
}

// Brief are words for a row of a listing, where there is no room for times and reasons.
func Brief(s call.Situation, c record.Change) text.Text {
	line, e := head(s, c), s.Efficacy[c.ID]
	if len(line) > 0 && !Gone(s, c) && (e.Finding == record.Working || e.Finding == record.PartlyWorking) {
		line.Addf(", at least %v stopped", text.Number(e.Stopped()))
	}
	return withEarlierEnd(s, c, line)
}

// withEarlierEnd puts before a line that the change was shortened at the service, if so.
func withEarlierEnd(s call.Situation, c record.Change, line text.Text) text.Text {
	end := shortenedTo(s, c)
	if end.IsZero() {
		return line
	}
	return text.Join(text.Lines{text.Newf("*shortened* at the service: it ends %v", end), line}, "; ")
}

// heads are the findings in words, of one source or rule.
var heads = map[record.Finding]string{
	record.Working: "working", record.PartlyWorking: "partly working", record.NotWorking: "NOT WORKING",
	record.EfficacyUnknown: "unknown whether it works", record.SourceReturned: "its source came back",
}

// finding is the finding in words, as far as it is sure.
func finding(e record.Efficacy) string {
	through, back := false, false
	for _, t := range e.Parts {
		through, back = through || t.Through.N > 0, back || t.After.N > 0
	}
	switch {
	case e.Finding == record.PartlyWorking && !through:
		return "working, at least partly"
	case e.Finding == record.SourceReturned && !back:
		return "its source kept trying to the end"
	}
	return heads[e.Finding]
}

// lastThrough is when the last hit got through, or may have.
func lastThrough(t record.Traffic) time.Time { return record.Later(t.Through.Last, t.Mixed.Last) }

// passed says how many hits got through, since when.
func passed(t record.Tally) text.Text {
	return text.Newf("%v got through since %v, the last %v", text.Count(t.N, "hit"), t.First, t.Last)
}

// gotThrough says what got through, or may have.
func gotThrough(t record.Traffic) text.Text {
	if t.Through.N == 0 {
		return text.New(text.Number(t.Mixed.N), text.Plural(t.Mixed.N, " more hit"),
			" in records that the service blocks in another way, in part or whole: whether any got through is unknown")
	}
	return passed(t.Through)
}

// observedSources says of a change that denies several sources what was seen of how many, and which it doesn't stop.
func observedSources(e record.Efficacy, keys []string, c record.Change, ongoing time.Duration) text.Text {
	if e.Finding == record.NotYet {
		return nil
	}
	var leaks, back, stillTried []string
	var stopped, hits int64
	var last time.Time
	for _, key := range keys {
		switch t := e.Parts[key]; {
		case t.After.N > 0:
			back = append(back, key)
		case e.Finding == record.SourceReturned && t.TriedUntil(c.Until, ongoing):
			stillTried = append(stillTried, key)
		case t.Through.N+t.Mixed.N > 0 && lastThrough(t).After(t.Stopped.Last):
			leaks, last = append(leaks, key), record.Later(last, lastThrough(t))
		case t.Stopped.N > 0:
			stopped, hits = stopped+1, hits+t.Stopped.N
		}
	}
	switch {
	case len(back) > 0:
		return text.Newf("*sources came back*: %v", naming(back))
	case len(stillTried) > 0:
		return text.Newf("*sources kept trying to the end*: %v", naming(stillTried))
	}
	line := text.Newf("*%v*: stops %v of %v", finding(e), stopped, text.Count(len(keys), "source"))
	if stopped > 0 {
		line.Addf(" (at least %v)", text.Count(hits, "hit"))
	}
	if rest := len(keys) - int(stopped) - len(leaks); rest > 0 {
		line.Addf(", %v not seen since %v", rest, record.Later(c.At, e.From))
	}
	if len(leaks) > 0 {
		return text.Newf("%v, gets through: %v, the last %v", line, naming(leaks), last)
	}
	return line
}

// naming names the first three.
func naming(keys []string) text.Text { return text.Enumerate(keys, 3, text.AsCode) }

// Line is what was seen of a change of the situation, and why it may do nothing, or that it ended; nothing while it
// need not work yet and still can.
func Line(s call.Situation, c record.Change) text.Text {
	line := seen(s, c)
	switch ended := c.State == record.StateDone && !c.InForce(s.Now); {
	case c.Overdue(s.Now):
		return text.Newf("*should have ended*, and is tried each minute")
	case ended:
		return text.Join(text.Lines{text.Lead("ended"), line}, ", ")
	}
	return withEarlierEnd(s, c, line)
}

func seen(s call.Situation, c record.Change) text.Text {
	e := s.Efficacy[c.ID]
	line := observed(e, c, s.Account.OngoingFor)
	failed, unknown := e.Finding == record.NotWorking, e.Finding == record.EfficacyUnknown
	var why text.Lines
	switch {
	case failed:
		why = likelyReasons(s, c)
	case unknown, e.Finding == record.PartlyWorking:
		why = hindrances(s, c)
	}
	switch {
	case c.Expired(s.Now) && e.Finding != record.SourceReturned:
		return nil
	case replaced(s, c):
		return text.Newf("*replaced* by a later change")
	case !failed && Gone(s, c):
		return text.Newf("*no longer in force*: it was removed or changed at the service")
	case unwatched(s, c):
		return text.Newf("*%v*: it was due %v, and it was not observed since",
			heads[record.EfficacyUnknown], c.At.Add(delaysOf(c).works))
	case unknown && aimedElsewhere(s, c):
		place := text.New("the entry is for other applications only than ", s.Account.AppName(s.Attack.App))
		if c.CreatesRules() {
			place = text.New("the rule is for another place or part of the request than this attack's")
		}
		return text.Newf("*%v*: %v, and nothing was seen there", finding(e), place)
	case len(why) > 0:
		return text.New(line, ". Likely: ", text.Join(why, "; "))
	case unknown && unlisted(s, c):
		return text.New(line, "; the service lists only the top sources, and it is not among them")
	}
	return line
}

// FailureLines say that a change does nothing though it should, and why that may be, or that what it denied came back.
func FailureLines(s call.Situation, c record.Change) text.Lines {
	e := s.Efficacy[c.ID]
	lines := text.Lines{text.Lead(c.Does, ": ", observed(e, c, s.Account.OngoingFor))}
	if c.AttackID != "" {
		lines[0].Addf(" `%v`", c.AttackID)
	}
	if e.Finding == record.NotWorking {
		lines.Add("Likely: ", text.Join(likelyReasons(s, c), "; "))
	}
	return lines
}

// StillDenied reports whether others deny what the change denied until it expired.
func StillDenied(s call.Situation, c record.Change) bool {
	return c.Expired(s.Now) && !slices.ContainsFunc(DeniedAddresses(c), func(addr netip.Addr) bool {
		return !slices.ContainsFunc(s.Entries, func(e apiclient.IPRule) bool {
			return e.List == apiclient.ListDeny && e.Kind == apiclient.KindRange && e.Subnet.Contains(addr)
		})
	})
}

// unlisted reports whether a denied source may go on in the attack's record without being listed.
func unlisted(s call.Situation, c record.Change) bool {
	cut := s.Attack.SourceCount.Known && s.Attack.SourceCount.N > s.Attack.Listed()
	return cut && slices.ContainsFunc(subjectsOf(c), func(sub subject) bool {
		return sub.target != nil && !slices.ContainsFunc(s.Attack.Sources, sub.target.Holds)
	})
}
