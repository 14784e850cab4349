package describe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Muted is the mute that keeps an attack back now, if one does. None ever keeps an incident back.
func Muted(all []record.Mute, a apiclient.Attack, now time.Time) (record.Mute, bool) {
	i := slices.IndexFunc(all, func(m record.Mute) bool { return !a.Incident() && !m.Over(now) && MuteCovers(m, a) })
	if i < 0 {
		return record.Mute{}, false
	}
	return all[i], true
}

func MuteCovers(m record.Mute, a apiclient.Attack) bool {
	if m.App != 0 && a.App != apiclient.Known(int64(m.App)) {
		return false
	}
	switch {
	case m.Attack != "":
		return m.Attack == record.AttackID(m.Account, a.ID)
	case m.Type != "":
		return strings.EqualFold(m.Type, a.Type)
	}
	return policy.ComesFrom(a, m.Source.Contains)
}

// what is muted, as the grammar writes it.
func MuteWhat(m record.Mute) string {
	what := "type=" + m.Type
	switch {
	case m.Attack != "":
		what = "attack=" + m.Attack
	case m.Source.IsValid():
		what = "source=" + grammar.RangeOf(m.Source).String()
	}
	if m.App != 0 {
		what += fmt.Sprintf(" app=%d", m.App)
	}
	return what
}

// MuteLine is a mute in one line: what, until when, by whom.
func MuteLine(m record.Mute) text.Text {
	return text.New(text.Code(MuteWhat(m)), " until ", m.Until, ", by ", text.Sanitize(m.By.Name, text.MaxField), " ", text.Code(m.ID))
}
