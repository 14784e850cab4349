package card

import (
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// people are who is on it, whom it mentions and pages, and what people found.
func (c drawing) people(done []mitigation, name int, runbook bool) (l line) {
	l.say("%v", c.whoIsOnIt(name))
	if c.QuietHours && c.Triage.Owner == nil {
		l.spare(spareWords, "quiet hours: no one mentioned")
	}
	l.spare(spareWords, "%v", pagerText(c.Pager, c.clock))
	if m, muted := c.muted(); muted {
		l.say("*muted* until %v, %v", c.clock(m.Until), text.Sanitize(m.By.Name, name))
	}
	if v := c.Triage.Verdict; v != nil {
		l.say("verdict *%v*, %v", strings.ReplaceAll(text.Sanitize(v.Is, maxName), "_", " "), text.Sanitize(v.By.Name, name))
	}
	if c.Headline.Incident && (len(done) > 0 || c.Triage.Verdict != nil) && !c.is(words.FalsePositive, words.Test) {
		vuln := text.Text(nil)
		if c.is(words.Ended) {
			vuln = text.Newf(" (vulnerability `%v`)", text.Sanitize(c.Attack.VulnID, maxVulnID))
		}
		l.spare(spareWords, "WAF reported an exploit%v: check for compromise", vuln)
	}
	if acted := actedLately(c); acted != "" {
		l.spare(spareActed, "%v acted lately", acted)
	}
	if n := len(c.Triage.Notes); n > 0 {
		l.spare(spareNotes, "%v under Details", text.Count(n, "note"))
	}
	if runbook {
		l.spare(spareLinks, "%v", linkTo("runbook", c.Runbook, ""))
	}
	l.spare(spareLinks, "%v", linkTo("console", c.Account.ConsoleURL, ""))
	return l
}

func (c drawing) muted() (record.Mute, bool) {
	return policy.Muted(c.Context.Mutes, c.Attack, c.Now)
}

// lately is how long it is said who acted.
const lately = 15 * time.Minute

// actedLately is who changed something for the attack, and isn't its owner.
func actedLately(c drawing) string {
	var names []string
	for _, ch := range c.Changes {
		name := text.Sanitize(ch.Actor.Name, maxName)
		owner := c.Triage.Owner != nil && c.Triage.Owner.Is(ch.Actor)
		if !owner && ch.Actor.Via != record.ViaClock && c.Now.Sub(ch.At) < lately && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names[max(0, len(names)-2):], ", ")
}

// whoIsOnIt is the owner, or that there is none, and whom the card mentions.
func (c drawing) whoIsOnIt(name int) text.Text {
	var l line
	calls := Recipient(c.Triage.Owner, c.Mention, c.QuietHours || c.Reposted)
	switch o := c.Triage.Owner; {
	case o != nil && calls == o.ID:
		return text.New(text.User(calls), " is on it") // by the name that calls
	case o != nil:
		l.say("*%v* is on it", text.Sanitize(o.Name, name))
	case !c.is(words.Ended, words.FalsePositive, words.Test):
		l.say("%v", words.Unacknowledged(c.Triage, false))
	}
	if calls != "" && !c.is(words.Ended, words.FalsePositive, words.Test) {
		l.say("%v", text.User(calls))
	}
	return l.text()
}

// smallPrint is where the card comes from: its id, the age of its figures, the mode.
func (c drawing) smallPrint() (l line) {
	s := c.Situation
	if advice.DryRun(s) {
		l.say("*DRY RUN*")
	}
	l.say("`%v`", text.Sanitize(s.ID, maxPart))
	if !c.FiguresAt.IsZero() {
		l.say("as of %v", c.clock(c.FiguresAt))
	}
	l.spare(spareAside, "sampled")
	if mode := modeRule(s); mode != "" {
		l.spare(spareAside, "mode rule: %v", mode)
	}
	if c.Late > 0 {
		l.spare(spareWords, "*posted %v late*", lateness(c.Late))
	}
	switch {
	case c.Rare:
		l.spare(spareWords, "redrawn rarely")
	case c.StaleFor > 0:
		l.spare(spareAside, "drawn %v late", lateness(c.StaleFor))
	}
	switch {
	case c.Uneditable:
		l.spare(spareAside, "reposted: the former card can't be edited")
	case c.Reposted:
		l.spare(spareAside, "reposted: the former card is gone")
	}
	return l
}

// modeRule is the application's mode as rules set it; "" if that isn't known, or is about to change: rules take up to
// an hour to work.
func modeRule(s call.Situation) string {
	switching := slices.ContainsFunc(s.Changes, func(ch record.Change) bool {
		return ch.SwitchesMode() && ch.InForce(s.Now) && s.Efficacy[ch.ID].Finding != record.Working
	})
	if s.ListsReadAt.IsZero() || !s.Attack.App.Known || switching {
		return ""
	}
	return text.Sanitize(words.ModeByRules(s.Rules, int(s.Attack.App.N)), maxPart)
}

// pagerText says when someone is paged, or was, with moments as clock shows them.
func pagerText(p call.PagerState, clock func(time.Time) any) text.Text {
	switch {
	case !p.At.IsZero():
		return text.New("pages at ", clock(p.At))
	case !p.PagedAt.IsZero():
		return text.New("paged at ", clock(p.PagedAt))
	case p.Fault != "":
		return text.Newf("*not paged*: %v", text.Sanitize(p.Fault, maxPart*2))
	}
	return nil
}
