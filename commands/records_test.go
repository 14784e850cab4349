package commands_test

import (
	"context"
	"slices"
	"time"

	"github.com/wafbot/wafbot/commands"
)

// records are what was kept of attacks. They are the same memory as the ledger, and fail with it.
type records struct {
	*ledger
	seen     map[string]commands.Sight    // by attack
	evidence map[string]commands.Evidence // likewise
	blinds   []commands.Spell
}

func (r *records) Seen(_ context.Context, _, attack string) (commands.Sight, bool, error) {
	if r.fails(&r.readFail) {
		return commands.Sight{}, false, errAway
	}
	s, ok := r.seen[attack]
	return s, ok, nil
}

func (r *records) Evidence(_ context.Context, _, attack string) (commands.Evidence, bool, error) {
	if r.fails(&r.readFail) {
		return commands.Evidence{}, false, errAway
	}
	e, ok := r.evidence[attack]
	return e, ok, nil
}

func (r *records) Blinds(_ context.Context, _ string, since time.Time) ([]commands.Spell, error) {
	if r.fails(&r.readFail) {
		return nil, errAway
	}
	return slices.DeleteFunc(slices.Clone(r.blinds), func(s commands.Spell) bool { return !s.Until.IsZero() && s.Until.Before(since) }), nil
}
