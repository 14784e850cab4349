package bot

import (
	"fmt"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands"
)

// How many changes that are due the notice of refused changes lists, how many steps of one change, and how many buttons it has.
const (
	maxDue    = 5
	maxByHand = 6
	maxTryNow = 5
)

// tiedMessage is the notice that the service refuses changes: what was not done and how to do it by hand, who can mend it, what is due meanwhile.
func tiedMessage(a Account, t commands.Tied, changes []commands.Change, now time.Time) Message {
	lines := []commands.Text{commands.Say(commands.Bold("HANDS TIED: wafbot can't "+t.Cannot()+" on "+a.Name), " since ", t.Since, " (", t.Status, ")")}
	if !t.GoesOn() {
		lines = []commands.Text{commands.Say("Over since ", t.Until, ": wafbot's hands were tied on ", commands.Bold(a.Name), " from ", t.Since, " (", t.Status, "). It can make changes again")}
	}
	lines = append(lines, refusedLines(a, t, changes, now)...)
	var made []*slack.ButtonBlockElement
	var maker buttonMaker
	for _, r := range t.Refused[:min(maxTryNow, len(t.Refused))] {
		if b, ok := maker.suggestion(t.TryNow(r)); ok {
			made = append(made, b)
		} else {
			lines = append(lines, toType(t.TryNow(r)))
		}
	}
	if t.GoesOn() {
		lines = append(lines, t.Mend()...)
		lines = append(lines, dueLines(a, t, changes, now)...)
		lines = append(lines, commands.Say("What is due is tried each minute, and the next such change that the service takes ends this"))
	}
	if b := maker.link("Open console", a.ConsoleURL); b != nil {
		made = append(made, b)
	}
	blocks := sections(lines, maxTogether-weight(made...))
	if len(made) > 0 {
		blocks = append(blocks, actions(made))
	}
	return Message{Text: tiedNotice(a, t), Blocks: blocks}
}

// tiedNotice is the notification: what is not done stands last, so that cutting harms nothing.
func tiedNotice(a Account, t commands.Tied) string {
	text := fmt.Sprintf("HANDS TIED: wafbot can't %s on %s since %s (%d).", t.Cannot(), a.Name, clockTime(t.Since), t.Status)
	if !t.GoesOn() {
		text = fmt.Sprintf("wafbot can change %s again. Its hands were tied since %s.", a.Name, clockTime(t.Since))
	}
	if len(t.Refused) > 0 {
		text += " NOT done: " + t.Refused[len(t.Refused)-1].Does
	}
	return notification(text)
}

// refusedLines are what was not done, each with the steps that are left to do by hand.
func refusedLines(a Account, t commands.Tied, changes []commands.Change, now time.Time) (lines []commands.Text) {
	for _, r := range t.Refused {
		what := "NOT done: "
		if r.Half {
			what = "Only partly done: "
		}
		head := commands.Say(commands.Bold(what+r.Does), ", asked by ", commands.Visible(r.By.Name, maxNoticeName), " ", r.At)
		if i := slices.IndexFunc(changes, func(ch commands.Change) bool { return ch.ID == r.Ends }); i >= 0 && r.By.Via == commands.ViaClock {
			head = a.DueLine(changes[i], now)
		}
		lines = append(lines, head)
		for _, s := range r.Steps[:min(maxByHand, len(r.Steps))] {
			lines = append(lines, commands.Say("• by hand, in the service's console: ", a.ByHand(s)))
		}
		if more := len(r.Steps) - maxByHand; more > 0 {
			lines = append(lines, commands.Say("• … and ", more, " more"))
		}
	}
	if t.More > 0 {
		lines = append(lines, commands.Say("… and ", t.More, " more: ", commands.Code("audit"), " lists them"))
	}
	return lines
}

// dueLines are what wafbot would have to end meanwhile.
func dueLines(a Account, t commands.Tied, changes []commands.Change, now time.Time) (lines []commands.Text) {
	due := t.DueMeanwhile(changes, now)
	for _, ch := range due[:min(maxDue, len(due))] {
		lines = append(lines, a.DueLine(ch, now))
	}
	if more := len(due) - maxDue; more > 0 {
		lines = append(lines, commands.Say("… and ", more, " more are due: ", commands.Code("status"), " lists what is in force"))
	}
	return lines
}

// untiedMessage says that the service takes changes again.
func untiedMessage(a Account, t commands.Tied) Message {
	lines := []commands.Text{commands.Say(commands.Bold("wafbot can change "+a.Name+" again"), " since ", t.Until)}
	for _, r := range t.Refused {
		next := "Ask again if it is still wanted"
		if r.By.Via == commands.ViaClock {
			next = "wafbot does it within a minute"
		}
		lines = append(lines, commands.Say("Still NOT done: ", commands.Bold(r.Does), ". ", next))
	}
	text := fmt.Sprintf("wafbot can change %s again since %s", a.Name, clockTime(t.Until))
	return Message{Text: notification(text), Blocks: renderLines(lines, nil)}
}
