package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// Muted is the mute that keeps an attack back now, if one does. None ever keeps an incident back.
func Muted(all []record.Mute, a apiclient.Attack, now time.Time) (record.Mute, bool) {
	i := slices.IndexFunc(all, func(m record.Mute) bool { return !a.Incident() && !m.Over(now) && MuteCovers(m, a) })
	if i < 0 {
		return record.Mute{}, false
	}
	return all[i], true
}

// MuteCovers reports whether a mute is for an attack.
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
	return ComesFrom(a, m.Source.Contains)
}
