package store

import (
	"context"

	"github.com/wafbot/wafbot/apiclient"
)

// KnownAttack is the account's stored attack with that whole id; ok tells whether there is one.
func (s *Attacks) KnownAttack(ctx context.Context, account, id string) (attack apiclient.Attack, ok bool, err error) {
	state, ok, err := s.AttackState(ctx, account, id)
	return state.Attack, ok, err
}
