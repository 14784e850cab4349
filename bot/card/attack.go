package card

import (
	"cmp"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How much text an attack's card has, in characters as a person sees them: a person reads it in five seconds.
const (
	maxCard      = 350
	maxCardAfter = 480 // once something was done
)

// How much of each name a card shows, in characters. The details have more.
const (
	maxApp     = 20
	maxPart    = 20
	maxVulnID  = 12
	maxAddress = 50
	maxCountry = 3
	maxName    = 28 // longer than every type that wafbot has words for
)

// What is left out first where there is no room for all.
const (
	spareWords = iota + 1
	spareActed
	spareLinks
	spareSources
	spareTrend
	spareAnswered
	spareNotes
	spareAside
)

// lines are the lines of a card, cut to its limits, its small print the last. All that a storm's counts is in the
// answer to its id's line.
func (c drawing) lines(offered advice.Advice) (lines []line) {
	done, alarm, rooms, most := c.done(), line(nil), stormRooms, maxCard
	if c.Storm == nil {
		alarm, rooms = c.alarm(offered, done), attackRooms
	}
	if len(done) > 0 || c.Triage.Verdict != nil {
		most = maxCardAfter
	}
	for _, room := range rooms {
		lines = []line{c.headline()}
		if c.Storm != nil {
			lines = slices.Concat(lines, deniedOwn(offered), []line{c.stormExtent()}, c.stormSources(offered))
		} else {
			lines = slices.Concat(lines, []line{c.what(room)}, deniedOwn(offered), []line{c.numbers(room.name), alarm})
		}
		lines = append(lines, c.mitigations(offered, done, room.mitigations)...)
		lines = fitLines(append(lines, c.people(done, room.name, !alarm.links()), c.smallPrint()), most)
		if together(lines) <= most {
			break
		}
	}
	return lines
}

// room is how much is shown: of a place, of each name that somebody chose, in characters; and how many mitigations.
type room struct{ place, name, mitigations int }

// The rooms of cards, the largest first.
var (
	attackRooms = []room{{64, maxName, 3}, {48, maxName, 3}, {32, maxName, 3}, {20, maxName, 3}, {20, maxName, 2},
		{20, maxName, 1}, {12, 10, 1}, {12, 6, 1}}
	stormRooms = []room{{name: maxName, mitigations: 2}}
)

// headline is the state, the severity, and that it goes on again.
func (c drawing) headline() (l line) {
	h := c.Headline
	sign, state := c.state()
	label := text.Newf("%v *%v*", sign, state)
	switch {
	case h.Since.IsZero():
	case h.State == words.Ended:
		label.Addf(", last hit %v", c.clock(h.Since))
	case c.is(words.Unknown, words.Mitigated, words.Quiet):
		label.Addf(" since %v", c.clock(h.Since))
	}
	l.say("%v", label)
	l.say("*%v %v*", h.Severity, c.kind())
	if !h.Resumed.IsZero() {
		l.say("resumed %v", c.clock(h.Resumed))
	}
	return l
}

func (c drawing) kind() string {
	switch {
	case c.Storm != nil:
		return "storm"
	case c.Headline.Incident:
		return "incident"
	}
	return "attack"
}

// signs are those of the headlines. Shapes differ, not only colours.
var signs = map[words.State]string{
	words.Unknown: "❓", words.FalsePositive: "🏁", words.Test: "🏁", words.Ended: "🏁", words.Blocked: "🟩",
	words.Mitigated: "🟩",
	words.Quiet:     "🔶", words.PartlyBlocked: "🔶", words.NotBlocked: "🔴",
}

// state is the headline's sign and words. An incident is never green before a verdict.
func (c drawing) state() (sign, said string) {
	h := c.Headline
	h.State = cmp.Or(h.State, words.Unknown)
	sign, said = signs[h.State], h.Words()
	if h.Review && c.is(words.Mitigated, words.Ended, words.Blocked) {
		sign = "🔶"
	}
	if c.Storm != nil {
		said = words.StormState(h.State, *c.Storm)
	}
	return sign, said
}

// is reports whether the card is in one of these states.
func (c drawing) is(states ...words.State) bool { return slices.Contains(states, c.Headline.State) }

// gettingThrough reports whether hits get through, or may.
func (c drawing) gettingThrough() bool {
	return c.is(words.NotBlocked, words.PartlyBlocked) || c.is(words.Unknown) && !c.Unwatched()
}

// what is the kind of attack and where it goes, with the account where several share the channel.
func (c drawing) what(r room) (l line) {
	a := c.Attack
	if c.SharedChannel {
		l.say("*%v*", text.Sanitize(c.Account.Name, r.name))
	}
	in := words.Part(a)
	for i := range in {
		in[i].Text = text.Sanitize(in[i].Text, min(maxPart, r.name))
	}
	l.say("%v", text.Cut(capital(typeName(a, maxName)), r.name))
	l.say("%v", c.appName(min(maxApp, r.name)))
	l.say("`%v`%v", text.Sanitize(words.Where(a), r.place), in)
	return l
}

// capital is a text that begins with a capital letter.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// deniedOwn says that customers may be shut out, which matters more than the attack.
func deniedOwn(offered advice.Advice) (lines []line) {
	for _, words := range offered.Denied[:min(1, len(offered.Denied))] {
		lines = append(lines, line{{words, 0}})
	}
	return lines
}

// numbers are what gets through, and of what.
func (c drawing) numbers(name int) (l line) {
	a := c.Attack
	switch {
	case c.is(words.Mitigated, words.Quiet):
		said := "No hit seen getting through"
		if c.is(words.Quiet) {
			said += ", cause not proven"
		}
		l.say("%v", said)
		l.spare(spareSources, "%v before, %v", words.Figure(a.Hits, "hit"), words.Figure(a.SourceCount, "source"))
		return l
	case c.gettingThrough():
		if l = c.notStopped(name); len(l) > 0 {
			return l
		}
	}
	return c.totals(name)
}

// notStopped is the source with the most hits that get through since the last change; nothing where there was no
// change, or nothing came since.
func (c drawing) notStopped(name int) (l line) {
	for _, ch := range slices.Backward(c.Changes) {
		e := c.Efficacy[ch.ID]
		for _, source := range c.Attack.Sources {
			t := e.Parts[source.String()].Through
			if ch.InForce(c.Now) && e.Finding == record.NotWorking && t.N > 0 {
				l.say("%v", c.source(source, name))
				l.say("%v through since %v", text.Count(t.N, "hit"), c.clock(t.First))
				return l
			}
		}
	}
	leak, ok := advice.Through(c.Situation)
	if !ok || leak.Since.IsZero() {
		return nil
	}
	l.say("%v", c.source(leak.Source, name))
	if percent, ok := leak.Share(); ok {
		l.say("%v of %v since %v", words.Percent(percent), words.Figure(leak.Of, "hit"), c.clock(leak.Since))
	}
	if leak.Others > 0 {
		l.spare(spareSources, "up to %v", text.Count(leak.Others, "other source"))
	}
	return l
}

// totals are the busiest source, its share, and the course of all.
func (c drawing) totals(name int) (l line) {
	a := c.Attack
	top, ok := call.TopSource(a)
	percent, known := topShare(a)
	switch {
	case !ok || !top.IP.IsValid():
		l.say("%v, %v", words.Figure(a.Hits, "hit"), words.Figure(a.SourceCount, "source"))
	case known && percent < 10:
		l.say("%v", words.Figure(a.SourceCount, "source"))
		l.say("top one %v of %v", words.Percent(percent), words.Figure(a.Hits, "hit"))
	case known:
		l.say("%v", c.source(top, name))
		l.say("%v of %v", words.Percent(percent), words.Figure(a.Hits, "hit"))
		sources := words.Figure(a.SourceCount, "source")
		if top.Addresses > 1 { // of a /64
			sources = text.Number(top.Addresses) + " of " + sources
		}
		l.spare(spareSources, "%v", sources)
	default:
		l.say("%v", c.source(top, name))
		l.say("%v", words.Figure(a.Hits, "hit"))
	}
	if !c.is(words.Ended, words.Unknown) {
		l.spare(spareTrend, "%v", trend(c.Course, c.FiguresAt))
	}
	if code, ok := a.Answered(); ok && !a.Incident() && !c.is(words.FalsePositive, words.Test) { // of an incident it says nothing new
		l.spare(spareAnswered, "answered %v", code)
	}
	return l
}

// source is an address, and whose it is or its country.
func (c drawing) source(s apiclient.Source, name int) text.Text {
	whose, own := c.whose(s, name)
	if own {
		whose = "= " + whose
	}
	words := text.Newf("`%v`", text.Sanitize(s.String(), maxAddress))
	if whose != "" {
		words.Addf(" %v", whose)
	}
	return words
}

// alarm is the one thing to know beside the figures: that an exploit worked, that nothing can be read, or that no
// button helps.
func (c drawing) alarm(offered advice.Advice, done []mitigation) (l line) {
	a := c.Attack
	runbook := linkTo("runbook", c.Runbook, ": ")
	switch {
	case c.Unwatched():
		was := text.Text(nil)
		if state := c.Headline.Was; state != "" {
			was = text.Newf("Was %v. ", words.Headline{State: state, Review: c.Headline.Review}.Words())
		}
		l.say("%v*WAF API unreachable*: act in the console", was)
		l.spare(spareAside, "%v", text.Field(c.Outage.Why))
	case c.is(words.FalsePositive, words.Test):
	case c.Headline.Review && len(done) == 0:
		l.say("WAF reports a *successful exploit* (vulnerability `%v`). Check for compromise%v",
			text.Sanitize(a.VulnID, maxVulnID), runbook)
	case c.is(words.Unknown):
		l.say("The WAF gives no blocking status: hits may get through")
	case !c.gettingThrough(), len(offered.Suggestions) > 0, len(done) > 0:
	case len(offered.Notes) == 1:
		l.say("%v", offered.Notes[0])
	case a.Type == "brute" || a.Type == "credential_stuffing":
		l.say("*No button stops this.* Rate limit or captcha at the login%v", runbook)
	default:
		l.say("*No button stops this.* Rate limit or captcha in the application%v", runbook)
	}
	return l
}

// linkTo opens an address that is short enough for a line.
func linkTo(label, address, before string) text.Text {
	u, ok := openable(address, maxLineURL) // longer ones get a button
	if !ok {
		return nil
	}
	return text.New(before, text.Link{Label: label, URL: u})
}

// lateness is a delay, as exact as it matters.
func lateness(d time.Duration) string {
	if d >= time.Minute {
		d = d.Truncate(time.Minute)
	}
	return text.Duration(d.Truncate(time.Second))
}

// clock is a moment by the reader's clock, with its day where that isn't clear.
func (c drawing) clock(t time.Time) any {
	switch {
	case t.IsZero():
		return "an unknown time"
	case c.Now.Sub(t).Abs() >= sameDay:
		return t
	}
	return text.Clock(t)
}

func (c drawing) appName(limit int) string {
	return text.Sanitize(c.Account.AppName(c.Attack.App), limit)
}

// typeName is an attack's type in words. A type that wafbot has no words for is cut.
func typeName(a apiclient.Attack, limit int) string {
	if words := words.TypeName(a.Type); words != a.Type {
		return words
	}
	return text.Sanitize(a.Type, limit)
}

// topShare is the share of the busiest source.
func topShare(a apiclient.Attack) (percent int, ok bool) {
	top, ok := call.TopSource(a)
	if !ok {
		return 0, false
	}
	return words.Share(top, a)
}
