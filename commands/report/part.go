package report

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/text"
)

// PartLines are parts as lines, for where there are no buttons.
func PartLines(parts []call.Part) (lines []text.Text) {
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
