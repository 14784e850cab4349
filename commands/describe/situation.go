package describe

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/text"
)

// Situation is the attack or storm in one line.
func Situation(s call.Situation) text.Text {
	if s.Storm != nil {
		return Storm(s.Account, call.StormRow{ID: s.ID, Attack: s.Attack, Storm: *s.Storm}, s.Now)
	}
	return Attack(s.Account, s.Attack, s.Now)
}
