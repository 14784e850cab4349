package bot

import (
	"fmt"
	"time"

	"github.com/wafbot/wafbot/commands"
)

// How many characters of a line typed by hand, and of what people wrote, a request's card shows; and how many facts and warnings.
const (
	maxAskedLine = 600
	maxWritten   = 500
	maxFacts     = 12
)

// requestMessage is the card of a request for a second person: what, why one person alone may not, who asks and his reason, whom it hits, until
// when; when it is decided, by whom.
func requestMessage(q commands.Request, p commands.Policy, now time.Time) Message {
	if !q.Waits(now) {
		lines := append([]commands.Text{commands.RequestLine(q, now)}, asked(q)...)
		if q.State == commands.RequestAlone {
			lines = append(lines, aloneBecause(q))
		}
		if q.State == commands.RequestExpired || q.State == commands.RequestClosed {
			lines = append(lines, commands.Say("Still wanted? Ask again: ", commands.Code(commands.Visible(q.Line.String(), maxAskedLine))))
		}
		return Message{Text: notification(requestNotice(q, now)), Blocks: renderLines(lines, nil)}
	}
	lines := []commands.Text{commands.Say(commands.Bold("SECOND PERSON NEEDED: "+commands.Visible(q.Does, maxAskedLine)), " ", commands.Code(q.ID))}
	lines = append(append(lines, asked(q)...), weighed(q)...)
	lines = append(lines, q.WhoDecides(p.Approvers))
	buttons := commands.DecideButtons(q)
	if alone := q.AloneLine(p, now); alone != nil {
		lines = append(lines, alone)
		if !now.Before(q.AloneAt) {
			buttons = append(buttons, commands.Suggestion{Label: "Do it alone…", Form: true, Line: commands.Line{Name: "alone", Words: []string{q.ID}}.With("account", q.Account)})
		}
	}
	return Message{Text: notification(requestNotice(q, now)), Blocks: renderLines(lines, buttons)}
}

// asked is who asks for what, and why one person alone may not do it.
func asked(q commands.Request) []commands.Text {
	who := commands.Say("Asked by ", commands.Bold(commands.Visible(q.Asker.Name, maxName)), " ", q.At) // who asked need not be called
	if q.Asker.Via == commands.ViaCLI {
		who = commands.Say("Asked by ", commands.Visible(q.Asker.Name, maxName), " at the terminal, ", q.At)
	}
	if q.Reason != "" {
		who = commands.Say(who, ": ", commands.Visible(q.Reason, maxWritten))
	}
	lines := []commands.Text{who}
	for _, need := range q.Needs {
		lines = append(lines, commands.Say("Why two: ", commands.Visible(need.Why, maxWritten)))
	}
	return lines
}

// weighed are whom it hits and what speaks against it.
func weighed(q commands.Request) []commands.Text {
	var lines []commands.Text
	for _, reach := range q.Reach {
		lines = append(lines, commands.Say("• ", commands.Visible(reach, maxWritten)))
	}
	for _, warning := range q.Warnings {
		lines = append(lines, commands.Say("• ", commands.Bold("Before you approve"), ": ", commands.Visible(warning, maxWritten)))
	}
	if left := len(lines) - maxFacts; left > 0 {
		lines = append(lines[:maxFacts], commands.Say("… and ", left, " more"))
	}
	return append(lines, commands.Say("Line: ", commands.Code(commands.Visible(q.Line.String(), maxAskedLine))))
}

// requestNotice is the notification: what it is about stands last, so that cutting harms nothing.
func requestNotice(q commands.Request, now time.Time) string {
	switch {
	case q.Waits(now):
		return fmt.Sprintf("SECOND PERSON NEEDED before %s, asked by %s: %s", clockTime(q.Until), commands.Visible(q.Asker.Name, maxNoticeName), q.Does)
	case q.State == commands.RequestWaiting, q.State == commands.RequestExpired:
		return "Nobody answered, not done: " + q.Does
	case q.Outcome == "failed":
		return "FAILED, though it was decided: " + q.Does
	case q.State == commands.RequestAlone:
		return fmt.Sprintf("Done ALONE by %s: %s", commands.Visible(q.Asker.Name, maxNoticeName), q.Does)
	case q.State == commands.RequestClosed:
		return "Closed, not done: " + q.Does
	}
	return fmt.Sprintf("%s by %s: %s", map[commands.RequestState]string{commands.RequestApproved: "Approved", commands.RequestRejected: "Rejected"}[q.State],
		commands.Visible(decider(q), maxNoticeName), q.Does)
}

func decider(q commands.Request) string {
	if q.Decided == nil {
		return "somebody"
	}
	return q.Decided.Name
}

func aloneBecause(q commands.Request) commands.Text {
	return commands.Say("Why it couldn't wait: ", commands.Visible(q.Why, maxWritten))
}

// decidedMessage tells what became of a request: who asked is called; of what was done alone, who is to know of that.
func decidedMessage(q commands.Request, p commands.Policy, now time.Time) Message {
	line, calls := commands.RequestLine(q, now), q.Asker.ID
	lines := []commands.Text{line}
	if q.State == commands.RequestAlone {
		calls = p.Alone.Tell
		acted := " acted ALONE"
		if q.Outcome == "failed" {
			acted = " tried to act ALONE"
		}
		line = commands.Say(commands.Bold(commands.Visible(q.Asker.Name, maxName)+acted), ": ", line)
		lines = []commands.Text{line, aloneBecause(q)}
		if q.Outcome == "done" {
			lines = append(lines, commands.Say("It ends by itself. ", commands.Code("status"), " shows what is in force, ", commands.Code("undo"), " with its id takes it back"))
		}
	}
	if isID(calls, "UWS") {
		lines[0] = commands.Say(commands.User(calls), " ", line)
	}
	return Message{Text: notification(requestNotice(q, now)), Blocks: renderLines(lines, nil)}
}
