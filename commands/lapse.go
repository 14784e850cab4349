package commands

import (
	"context"
	"errors"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

const (
	lapseEvery = 15 * time.Second // how often acknowledgements are checked
	storedLate = 2 * time.Minute  // how old the last hit is at most that the store knows of an attack with a card, while there are newer ones
)

// RunLapses unacknowledges attacks of one account whose acknowledgement has lasted as long as their route allows, or
// that have resumed since, and that still get through: else it would silence the pager for good. It returns when the
// context ends. One replica at a time may do so.
func (r *Runner) RunLapses(ctx context.Context, account string) {
	for delay.Sleep(ctx, delay.Jitter(lapseEvery*9/10, lapseEvery*11/10)) == nil {
		if err := r.checkLapses(ctx, account); err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "check acknowledgements", "account", account, "err", err)
		}
	}
}

// checkLapses unacknowledges what is due now.
func (r *Runner) checkLapses(ctx context.Context, account string) error {
	all, err := r.Store.Triage.AllTriage(ctx, account)
	for attack, t := range all {
		if t.Owner != nil {
			err = errors.Join(err, r.checkLapse(ctx, account, attack, t))
		}
	}
	return err
}

func (r *Runner) checkLapse(ctx context.Context, account, attack string, t record.Triage) error {
	now := r.now(account)
	s, _, err := r.Store.Attacks.AttackState(ctx, account, attack)
	if err != nil || !lapses(s, t, now) || !r.getsThrough(account, s, now) {
		return err
	}
	mutes, err := r.Store.Triage.Mutes(ctx, account)
	if _, muted := policy.Muted(mutes, s.Attack, now); err != nil || muted {
		return err
	}
	_, err = r.byClock(ctx, account, record.Line{Name: "unack"}.With("attack", attack))
	return err
}

// lapses reports whether an attack was acknowledged for as long as it may be, or has resumed since, unless a person
// found that it is none.
func lapses(s record.AttackState, t record.Triage, now time.Time) bool {
	none := s.Attack.FalsePositive() || t.IsNone()
	late := s.AckTimeout > 0 && now.Sub(t.Owner.Since) >= s.AckTimeout
	return !none && (late || s.ResumedAt.After(t.Owner.Since))
}

// getsThrough reports whether hits of an attack or a storm are seen getting through. A denied source that merely still
// tries doesn't get through.
func (r *Runner) getsThrough(account string, s record.AttackState, now time.Time) bool {
	switch {
	case s.Quiet || s.Paused || s.Rebuilt:
		return false
	case s.Storm != nil:
		return s.Storm.Passing() > 0
	}
	return s.Attack.Status() != apiclient.StatusBlocked &&
		now.Sub(s.Attack.Last) < r.accounts[account].OngoingFor+storedLate
}
