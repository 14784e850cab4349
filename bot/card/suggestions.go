package card

import (
	"slices"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// advice says what would stop the attack and how soon, or that no button does, and why some buttons are missing.
func (c Card) advice(advice advice.Advice) []text.Text {
	lines := c.dryRun(advice)
	if c.tooThin(advice) {
		return append(lines, c.noButton(advice)...)
	}
	return slices.Concat(lines, c.mitigations(advice.Suggestions), advice.Notes)
}

// dryRun says that buttons only show what they would do.
func (c Card) dryRun(advice advice.Advice) []text.Text {
	if changes := c.Situation.Policy.ChangesNow(); changes == policy.ChangesOn || changes == policy.ChangesOff || len(advice.Suggestions) == 0 {
		return nil
	}
	return []text.Text{text.New(text.Bold("Dry run:"), " buttons only show what would be sent; nothing is changed")}
}

const closesLabel = "Closes the hole:"

// mitigations are the suggestions in words, the fastest first.
func (c Card) mitigations(suggestions []call.Suggestion) []text.Text {
	var lines []text.Text
	for i, s := range suggestions {
		if i > 0 && s.Closes == "" && s.Stops == suggestions[0].Stops {
			continue // it is part of the first
		}
		line := text.New(text.Bold(c.mitigationLabel(i, "Fastest:")), " ", s.Stops)
		switch {
		case s.Stops == "":
			line = text.New(text.Bold(c.mitigationLabel(i, closesLabel)), " ", s.Closes)
		case s.Closes != "":
			line = text.New(line, ". ", text.Bold(closesLabel), " ", s.Closes)
		}
		lines = append(lines, line)
	}
	return lines
}

// mitigationLabel goes before the i-th mitigation.
func (c Card) mitigationLabel(i int, label string) string {
	switch {
	case i > 0:
		return "Or:"
	case !gettingThrough(c.Situation.Attack):
		return "Blocked by the service. To go further:"
	case c.inForce() && label != closesLabel:
		return "Also possible:"
	case c.Quiet:
		return "Should it come back:"
	}
	return label
}

// inForce reports whether a mitigation of the attack is in force.
func (c Card) inForce() bool {
	s := c.Situation
	return slices.ContainsFunc(s.Changes, func(ch record.Change) bool { return ch.InForce(s.Now) })
}

// tooThin reports whether the attack gets through and no button stops a tenth of it.
func (c Card) tooThin(advice advice.Advice) bool {
	s := c.Situation
	if !gettingThrough(s.Attack) || s.Attack.FalsePositive() || c.inForce() || s.Policy.ChangesNow() == policy.ChangesOff {
		return false
	}
	if slices.ContainsFunc(advice.Suggestions, func(s call.Suggestion) bool { return s.Line.Name != "deny" }) {
		return false // patches and modes stop every source
	}
	percent, ok := topShare(c.Situation.Attack)
	return len(advice.Suggestions) == 0 || ok && percent < 10
}

// noButton says that no button helps, why, and what does.
func (c Card) noButton(offered advice.Advice) []text.Text {
	kind := c.Situation.Attack.Type
	login := kind == "brute" || kind == "credential_stuffing"
	first := text.New(text.Bold("No quick button stops this."))
	if percent, ok := topShare(c.Situation.Attack); ok && len(offered.Suggestions) > 0 {
		first = text.New(first, " Denying the top source stops ", describe.Percent(percent), ".")
	}
	if login {
		first = text.New(first, " Block mode changes nothing: each request looks like a login.")
	} else if advice.LooksClean(kind) {
		first = text.New(first, " Block mode changes nothing: each request looks clean by itself.")
	}
	what := text.New(text.Bold("What can:"), " a rate limit or captcha in the application")
	if _, ok := inLine(c.Runbook); ok {
		what = text.New(what, " (runbook below)")
	}
	if !advice.WatchedOnly(c.Situation) {
		list := record.Line{Name: "deny", Words: []string{"ADDRESS…"}}.With("attack", c.Situation.ID)
		what = text.New(what, " · a header that the requests share · your own list of addresses, ", text.Code(list.String()), " · closing the path, under More")
	}
	lines := slices.Concat([]text.Text{first}, offered.Notes, []text.Text{what})
	if login {
		lines = append(lines, text.New("wafbot sees attacks, not logins: check for accounts taken over"))
	}
	return lines
}

// topShare is the share of the busiest source.
func topShare(a apiclient.Attack) (percent int, ok bool) {
	top, ok := call.TopSource(a)
	if !ok {
		return 0, false
	}
	return describe.Share(top, a)
}

// gettingThrough reports whether the service says that some hits are not blocked.
func gettingThrough(a apiclient.Attack) bool {
	return a.Incident() || a.Status() != apiclient.StatusBlocked
}

// maxMitigations is how many mitigations get a button. All are under More.
const maxMitigations = 2

// suggestions are what gets a button: the fastest mitigations, or forms where no button stops the attack, and Acknowledge.
func (c Card) suggestions(offered advice.Advice) []call.Suggestion {
	var acknowledge []call.Suggestion
	if c.Triage.Owner == nil {
		acknowledge = append(acknowledge, advice.Acknowledge(c.Situation))
	}
	isMode := func(s call.Suggestion) bool { return s.Line.Name == "mode" } // it affects every visitor: only where nothing else fits
	mitigations := slices.DeleteFunc(slices.Clone(offered.Suggestions), isMode)
	if len(mitigations) == 0 {
		mitigations = offered.Suggestions
	}
	mitigations = mitigations[:min(maxMitigations, len(mitigations))]
	if c.tooThin(offered) && !advice.WatchedOnly(c.Situation) {
		return slices.Concat(offered.Remedies, acknowledge, advice.Alternatives(c.Situation))
	}
	return slices.Concat(offered.Remedies, mitigations, acknowledge)
}

// buttons are a card's, and lines to type for what has no room.
func (c Card) buttons(m *buttonMaker, offered advice.Advice) (buttons []*slack.ButtonBlockElement, without []text.Text) {
	suggestions := c.suggestions(offered)
	buttons, without = m.all(suggestions)
	// The one button that should be seen first.
	if len(buttons) > 0 && len(without) == 0 && !slices.Contains([]string{"mode", "ack"}, suggestions[0].Line.Name) && gettingThrough(c.Situation.Attack) && !c.Quiet && !c.tooThin(offered) {
		buttons[0].Style = slack.StylePrimary
	}
	if line := attackLine(c.Situation); fitsValue(line) {
		more := m.button(ActionMore, "More…", line)
		more.AccessibilityLabel = text.Sanitize("More mitigations against "+typeName(c.Situation.Attack, maxNoticeName)+" on "+c.appName(maxNoticeName), maxLabel)
		buttons = append(buttons, more)
	}
	for _, link := range []text.Link{{Label: "Runbook", URL: c.Runbook}, {Label: "Open console", URL: c.ConsoleURL}} {
		if _, fits := inLine(link.URL); fits {
			continue // it stands beside who is on it
		}
		if b := m.link(link); b != nil {
			buttons = append(buttons, b)
		}
	}
	return buttons, without
}

// attackLine is the line that shows all of an attack.
func attackLine(s call.Situation) string {
	return record.Line{Name: "attack", Words: []string{s.ID}}.With("account", s.Account.Name).String()
}
