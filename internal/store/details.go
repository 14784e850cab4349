package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// Details is what is stored about an attack beside the attack itself, in one round trip: people wait for the card.
func (s *Cards) Details(ctx context.Context, account, attack string) (d record.AttackDetails, err error) {
	var changes *redis.StringSliceCmd
	var efficacy *redis.MapStringStringCmd
	var triage, page, outage, polled, card *redis.StringCmd
	var scene askedContext
	_, err = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		changes, triage, page = p.HVals(ctx, keyChanges(account)), p.HGet(ctx, keyTriage(account), attack), p.HGet(ctx, keyPages(account), attack)
		efficacy = p.HGetAll(ctx, keyEfficacy(account))
		outage, polled, scene = p.Get(ctx, keyOutage(account)), p.Get(ctx, keyLastGood(account)), askContext(ctx, p, account)
		card = p.HGet(ctx, keyCards(account), attack)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return d, fmt.Errorf("read details of %s: %w", attack, err)
	}
	var errs [7]error
	d.Changes, errs[0] = s.readChanges(ctx, account, changes)
	d.Triage, errs[1] = value[record.Triage](triage, "read triage of "+attack)
	d.Page, errs[2] = value[record.Page](page, "read page of "+attack)
	d.Context, errs[3] = scene.read(account)
	d.Outage, errs[4] = value[record.Outage](outage, "read outage of "+account)
	d.LastGood, errs[5] = good(polled, account)
	d.Efficacy, errs[6] = values[record.Efficacy](efficacy, account, "efficacy")
	d.Card = record.ReadPlace(card.Val()) // an error is that of the whole, or that there is none
	return d, errors.Join(errs[:]...)
}
