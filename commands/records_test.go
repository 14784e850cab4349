package commands_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/record"
)

// records are what was kept of attacks. They are the same store as the ledger, and fail with it.
type records struct {
	*ledger
	seen     map[string]record.Observation // by attack
	evidence map[string]record.Evidence    // likewise
	outages  []record.Outage
	shown    map[string]record.AttackState // likewise, as the poller last decided about them
}

func (r *records) AttackState(_ context.Context, _, attack string) (record.AttackState, bool, error) {
	s, ok := r.shown[attack]
	return s, ok, nil
}

func (r *records) StatesOf(_ context.Context, _ string, _ []string) (map[string]record.AttackState, error) {
	if r.fails(&r.readFail) {
		return nil, errAway
	}
	return r.shown, nil
}

func (r *records) LastObservation(_ context.Context, account, attack string) (record.Observation, bool, error) {
	if r.fails(&r.readFail) {
		return record.Observation{}, false, errAway
	}
	s, ok := r.seen[attack]
	return s, ok && account == "acme", nil
}

func (r *records) Evidence(_ context.Context, account, attack string) (record.Evidence, bool, error) {
	if r.fails(&r.readFail) {
		return record.Evidence{}, false, errAway
	}
	e, ok := r.evidence[attack]
	return e, ok && account == "acme", nil
}

func (r *records) Outages(_ context.Context, account string, since time.Time) ([]record.Outage, error) {
	if r.fails(&r.readFail) {
		return nil, errAway
	}
	if account != "acme" {
		return nil, nil
	}
	found := slices.DeleteFunc(slices.Clone(r.outages), func(s record.Outage) bool { return !s.Until.IsZero() && s.Until.Before(since) })
	slices.SortFunc(found, func(a, b record.Outage) int { return a.From.Compare(b.From) })
	return found, nil
}

// bases puts together what a change goes by.
type bases struct {
	*ledger
	triage      *triage
	permissions *permissions
	records     *records
	cfg         *commands.Config // of which the attacks are
}

func (b bases) Basis(ctx context.Context, account, attack string) (all record.Basis, err error) {
	faults := make([]error, 6)
	all.Changes, faults[0] = b.Changes(ctx, account)
	all.Context, faults[1] = b.triage.AccountContext(ctx, account)
	all.Loss, faults[2] = b.permissions.PermissionLoss(ctx, account)
	if attack != "" {
		all.Triage, faults[3] = b.triage.TriageOf(ctx, account, attack)
		all.Known, _, faults[5] = b.cfg.Attacks.KnownAttack(ctx, account, attack)
		all.Observed, _, faults[4] = b.records.LastObservation(ctx, account, attack)
	}
	all.Attack = attack
	return all, errors.Join(faults...)
}
