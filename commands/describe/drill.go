package describe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// DrillStep is one step of a drill, or of the one in the sandbox.
type DrillStep struct {
	Name string        `json:"name"`
	OK   bool          `json:"ok"`
	Took time.Duration `json:"took_ns"`        // 0: it wasn't measured
	Note string        `json:"note,omitempty"` // for people
}

// Line is the step for people.
func (s DrillStep) Line() text.Text {
	state := text.New("ok ")
	if !s.OK {
		state = text.New(text.Bold("FAILED "))
	}
	line := text.New(state, s.Name)
	if s.Took != 0 {
		line = text.New(line, ": ", precisely(s.Took))
	}
	if s.Note != "" {
		line = text.New(line, " (", text.Sanitize(s.Note, MaxNote), ")")
	}
	return line
}

// precisely is a duration as a stop-watch shows it.
func precisely(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return text.Duration(d)
}

// DrillSteps are what is known of a drill's steps, in their order. Where a step failed, those behind it are left out.
func DrillSteps(d record.Drill) []DrillStep {
	steps := []DrillStep{{Name: "a round trip to Redis", OK: true, Took: d.Redis}}
	add := func(s DrillStep) { steps = append(steps, s) }
	if d.Card.Drill != d.ID {
		add(DrillStep{Name: "the card reaches Slack", Note: "it was not posted: look at the log of wafbot serve"})
		return steps
	}
	add(DrillStep{Name: "from asking until Slack had the card", OK: true, Took: d.Card.Posted.Sub(d.At)})
	add(DrillStep{Name: "finding the card again in the channel's history", OK: d.Card.Found > 0, Took: d.Card.Found, Note: d.Card.Fault})
	switch {
	case d.Waits():
		add(DrillStep{Name: "an answer", Note: "none yet"})
		return steps
	case d.Answer == nil:
		add(DrillStep{Name: "an answer", Note: "none within " + text.Duration(d.Over.Sub(d.Card.Posted))})
		return append(steps, stepsAfter(d, d.Over)...)
	}
	add(DrillStep{Name: "until " + text.Sanitize(d.Answer.By.Name, text.MaxField) + " answered", OK: true, Took: d.Answer.Taken.Sub(d.Card.Posted)})
	if !d.Answer.Clicked.IsZero() {
		add(DrillStep{Name: "from the click until wafbot had it", OK: true, Took: max(d.Answer.Taken.Sub(d.Answer.Clicked), time.Microsecond), Note: "Slack's clock against wafbot's"})
	}
	add(DrillStep{Name: "until it was recorded and in progress", OK: true, Took: d.Answer.InHand.Sub(d.Answer.Taken)})
	return append(steps, stepsAfter(d, d.Answer.InHand)...)
}

// stepsAfter are the steps after a drill has ended.
func stepsAfter(d record.Drill, ended time.Time) []DrillStep {
	card := DrillStep{Name: "until the card showed it", OK: !d.Card.Shown.IsZero(), Note: "it does not yet"}
	if card.OK {
		card.Took, card.Note = d.Card.Shown.Sub(ended), ""
	}
	audit := DrillStep{Name: "the audit log has it", OK: d.Audited > 0, Note: "it has no number: Redis did not take it, or the account's last entries can't be read"}
	if audit.OK {
		audit.Note = fmt.Sprintf("number %d; wafbot serve prints its own, numbered alike, on standard output", d.Audited)
	}
	return []DrillStep{card, audit}
}

// DrillPassed reports whether it was answered and every step went well.
func DrillPassed(d record.Drill) bool {
	return !slices.ContainsFunc(DrillSteps(d), func(s DrillStep) bool { return !s.OK })
}

// NotDrilled is what a drill leaves untried, in words.
func NotDrilled() []string {
	return []string{
		"changes at the service (wafbot drill --sandbox tries them in an emulated one)", "the pager", "mentions, and the channels of routes",
		"forms and approval", "what happens while Redis, Slack or the service is away",
	}
}

// Drill is what came of a drill.
func Drill(d record.Drill) []text.Text {
	came := text.New(text.Bold("no answer"))
	switch {
	case d.Card.Drill != d.ID:
		came = text.New(text.Bold("its card was not posted"))
	case d.Answer != nil:
		came = text.New("answered by ", text.Bold(text.Sanitize(d.Answer.By.Name, text.MaxField)))
	}
	lines := []text.Text{text.New(text.Bold("DRILL of "+d.Account), ": ", came)}
	for _, s := range DrillSteps(d) {
		lines = append(lines, text.New("• ", s.Line()))
	}
	return append(lines, text.New(text.Bold("Not tried: "), strings.Join(NotDrilled(), "; ")))
}
