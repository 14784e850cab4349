package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// File is all that is stored about an attack beside the attack itself, in one round trip: this is on the way from an attack to a person.
func (s *Cards) File(ctx context.Context, account, attack string) (file record.AttackDetails, err error) {
	var changes *redis.StringSliceCmd
	var effects *redis.MapStringStringCmd
	var said, page, blind, polled, card *redis.StringCmd
	var scene askedScene
	_, err = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		changes, said, page = p.HVals(ctx, keyChanges(account)), p.HGet(ctx, keyCases(account), attack), p.HGet(ctx, keyPages(account), attack)
		effects = p.HGetAll(ctx, keyEffects(account))
		blind, polled, scene = p.Get(ctx, keyBlind(account)), p.Get(ctx, keyGood(account)), askScene(ctx, p, account)
		card = p.HGet(ctx, keyCards(account), attack)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return file, fmt.Errorf("read file of %s: %w", attack, err)
	}
	var errs [7]error
	file.Changes, errs[0] = s.readChanges(ctx, account, changes)
	file.Case, errs[1] = value[record.Triage](said, "read case of "+attack)
	file.Page, errs[2] = value[record.Page](page, "read page of "+attack)
	file.Scene, errs[3] = scene.scene(account)
	spell, err := value[record.Outage](blind, "read blind spell of "+account)
	file.Blind, errs[4] = record.Outage{From: spell.From, Why: spell.Why}, err
	file.Good, errs[5] = good(polled, account)
	file.Effects, errs[6] = values[record.Efficacy](effects, account, "effect")
	file.Card = record.ReadPlace(card.Val()) // an error is that of the whole, or that there is none
	return file, errors.Join(errs[:]...)
}
