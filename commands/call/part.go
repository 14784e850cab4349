package call

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

// CutTo leaves the part's first rows, and says how many it leaves out; at most 0 of them leaves all.
func (p Part) CutTo(most int, where record.Line) Part {
	if left := len(p.Rows) - most; most > 0 && left > 0 {
		p.Rows, p.More = p.Rows[:most], text.New("… and ", text.Number(left), " more: type ", text.Code(where.String()))
	}
	return p
}
