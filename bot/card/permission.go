package card

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Limits of the notice: due changes listed, steps of one change, characters of one refused change (a record keeps
// five), characters below them.
const (
	maxDue         = 5
	maxByHand      = 6
	maxRefusedText = 1_300
	maxRest        = 1_800
)

// PermissionLost is the notice that the service refuses changes: what was not done and how to do it by hand, who can
// fix it, what is due meanwhile.
func PermissionLost(a *config.Account, t record.PermissionLoss, changes []record.Change, now time.Time) Message {
	head := mentioning(text.Lines{text.Newf("*WAF permission lost: wafbot can't %v on %v* since %v (%v)",
		t.Cannot(), a.Name, t.Since, t.Status)}, a.Ops())
	if !t.GoesOn() {
		head = text.Lines{text.Newf("Over since %v: wafbot had lost its WAF permission on *%v* from %v (%v). It can make changes again",
			t.Until, a.Name, t.Since, t.Status)}
	}
	var rest text.Lines
	if t.More > 0 {
		rest.Addf("… and %v more: `audit` lists them", t.More)
	}
	if t.GoesOn() {
		rest = append(rest, change.PermissionFix(t))
		rest = append(rest, dueLines(a, t, changes, now)...)
		rest.Addf("What is due is tried each minute, and the next such change that the service takes ends this")
	}
	var maker buttonMaker
	blocks := sections(head, maxTogether)
	for _, r := range t.Refused {
		lines, retry := refusedLines(a, r, changes, now), advice.Retry(t, r)
		button := maker.suggestion(retry)
		if button == nil {
			lines = append(lines, toType(retry))
		}
		blocks = append(blocks, section(strings.Join(firstLines(flat(lines), maxRefusedText, maxRefusedText), "\n"), button))
	}
	if len(rest) > 0 {
		blocks = append(blocks, sections(rest, maxRest)...)
	}
	if console := maker.link(text.Link{Label: "Open console", URL: a.ConsoleURL}); console != nil {
		blocks = append(blocks, actions(console)...)
	}
	return Message{Text: permissionNotice(a, t), Blocks: blocks}
}

// permissionNotice is the notification. What was not done stands last, because the end is cut.
func permissionNotice(a *config.Account, t record.PermissionLoss) string {
	what := t.Cannot() + " on " + a.Name
	if len(t.Lacks) > 1 {
		what = "change " + a.Name // the message lists what
	}
	text := fmt.Sprintf("WAF permission lost: can't %s since %s (%d).", what, clockTime(t.Since), t.Status)
	if !t.GoesOn() {
		text = fmt.Sprintf("wafbot can change %s again. Its WAF permission was lost since %s.", a.Name, clockTime(t.Since))
	}
	if n := len(t.Refused); n > 0 {
		first := slices.IndexFunc(t.Refused, func(r record.RefusedChange) bool { return t.Refused[n-1].At.Sub(r.At) < time.Minute }) // the first of those asked for together
		text += " NOT done: " + t.Refused[first].Does
	}
	return notification(text)
}

// refusedLines say what was not done, and the steps to do by hand.
func refusedLines(a *config.Account, r record.RefusedChange, changes []record.Change, now time.Time) text.Lines {
	what := "NOT done: "
	if r.Half {
		what = "Only partly done: "
	}
	head := text.Newf("*%v*, asked by %v %v", what+r.Does, text.Sanitize(r.By.Name, maxNoticeName), r.At)
	if i := slices.IndexFunc(changes, func(ch record.Change) bool { return ch.ID == r.Ends }); i >= 0 && r.By.Via == record.ViaClock {
		head = change.DueLine(a, changes[i], now)
	}
	lines := text.Lines{head}
	for _, s := range r.Steps[:min(maxByHand, len(r.Steps))] {
		lines.Add("• by hand, in the service's console: ", words.ByHand(a, s))
	}
	if more := len(r.Steps) - maxByHand; more > 0 {
		lines.Addf("• … and %v more", more)
	}
	return lines
}

// dueLines list what wafbot would have to end meanwhile.
func dueLines(a *config.Account, t record.PermissionLoss, changes []record.Change, now time.Time) (lines text.Lines) {
	due := change.DueMeanwhile(t, changes, now)
	for _, ch := range due[:min(maxDue, len(due))] {
		lines = append(lines, change.DueLine(a, ch, now))
	}
	if more := len(due) - maxDue; more > 0 {
		lines.Addf("… and %v more are due: `status` lists what is in force", more)
	}
	return lines
}

// PermissionBack says that the service takes changes again.
func PermissionBack(a *config.Account, t record.PermissionLoss) Message {
	lines := text.Lines{text.Newf("*wafbot can change %v again* since %v", a.Name, t.Until)}
	for _, r := range t.Refused {
		next := "Ask again if it is still wanted"
		if r.By.Via == record.ViaClock {
			next = "wafbot does it within a minute"
		}
		lines.Addf("Still NOT done: *%v*. %v", r.Does, next)
	}
	return notified(fmt.Sprintf("wafbot can change %s again since %s", a.Name, clockTime(t.Until)), lines)
}
