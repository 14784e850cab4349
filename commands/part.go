package commands

import (
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Part is a titled part of an answer.
type Part struct {
	Title text.Text
	Rows  []Row
	More  text.Text    // what there was no room for and where it is; nil: nothing is left out
	Do    []Suggestion // about all of it
}

// Row is a line of a part, with what can be done about it.
type Row struct {
	Text text.Text
	Do   []Suggestion
}

// partLines are parts as lines, for where there are no buttons.
func partLines(parts []Part) (lines []text.Text) {
	for _, p := range parts {
		lines = append(lines, p.Title)
		for _, r := range p.Rows {
			lines = append(lines, text.New("• ", r.Text))
		}
		if p.More != nil {
			lines = append(lines, p.More)
		}
	}
	return lines
}

// cutTo leaves the part's first rows, and says how many it leaves out; at most 0 of them leaves all.
func (p Part) cutTo(most int, where record.Line) Part {
	if left := len(p.Rows) - most; most > 0 && left > 0 {
		p.Rows, p.More = p.Rows[:most], text.New("… and ", text.Number(left), " more: type ", text.Code(where.String()))
	}
	return p
}

// requestButtons decide a request. Whoever asked has none: it takes somebody else.
func requestButtons(q record.ApprovalRequest, who record.Actor, role record.Role) []Suggestion {
	if who.ID == q.Asker.ID || role < max(q.Role, record.Responder) {
		return nil
	}
	return DecideButtons(q)
}
