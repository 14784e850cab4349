package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// File is all that is stored about an attack beside the attack itself, in one round trip: this is on the way from an attack to a person.
func (s *Cards) Details(ctx context.Context, account, attack string) (file record.AttackDetails, err error) {
	var changes *redis.StringSliceCmd
	var effects *redis.MapStringStringCmd
	var said, page, blind, polled, card *redis.StringCmd
	var scene askedContext
	_, err = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		changes, said, page = p.HVals(ctx, keyChanges(account)), p.HGet(ctx, keyTriage(account), attack), p.HGet(ctx, keyPages(account), attack)
		effects = p.HGetAll(ctx, keyEfficacy(account))
		blind, polled, scene = p.Get(ctx, keyOutage(account)), p.Get(ctx, keyLastGood(account)), askContext(ctx, p, account)
		card = p.HGet(ctx, keyCards(account), attack)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return file, fmt.Errorf("read file of %s: %w", attack, err)
	}
	var errs [7]error
	file.Changes, errs[0] = s.readChanges(ctx, account, changes)
	file.Triage, errs[1] = value[record.Triage](said, "read case of "+attack)
	file.Page, errs[2] = value[record.Page](page, "read page of "+attack)
	file.Context, errs[3] = scene.read(account)
	spell, err := value[record.Outage](blind, "read blind spell of "+account)
	file.Outage, errs[4] = record.Outage{From: spell.From, Why: spell.Why}, err
	file.LastGood, errs[5] = good(polled, account)
	file.Efficacy, errs[6] = values[record.Efficacy](effects, account, "effect")
	file.Card = record.ReadPlace(card.Val()) // an error is that of the whole, or that there is none
	return file, errors.Join(errs[:]...)
}
