package commands

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// findAttackTyped finds the attack that was typed, by its id or any unique beginning of it, and with it the account.
func findAttackTyped(ctx context.Context, c *job, typed string) error {
	accounts := c.Accounts
	if c.named() != "" && c.Account != nil {
		accounts = []*config.Account{c.Account}
	}
	of, found, err := c.searchAttacks(ctx, accounts, typed, c.Cmd.Past)
	switch {
	case len(found) == 1:
		c.On(of)
		c.Attack = &found[0]
		return nil
	case len(found) > 1:
		var ids []string
		for _, k := range found {
			ids = append(ids, k.ID)
		}
		return refusal.Usage("Ambiguous id: `%v`. It fits several attacks: %v", text.Field(typed),
			strings.Join(ids[:min(5, len(ids))], ", "))
	case err != nil:
		return refusal.FromService(err)
	}
	if strings.HasPrefix(typed, "s") {
		return report.NoStorm(typed)
	}
	unknown := text.Newf("Unknown attack: `%v`. ", text.Field(typed))
	if len(typed) < record.MinPrefix {
		return refusal.Usage("%vAn id needs at least %v characters", unknown, record.MinPrefix)
	}
	back := accounts[0].Lookback
	return refusal.Usage("%vNone has that id in the last %v: `attacks since=%v` lists them", unknown,
		text.Duration(back), grammar.DurationText(back))
}

// searchAttacks searches the store, and the services if the store knows none. of is the account of the last one found.
// If past is set, it finds past attacks in the store, too. With several accounts each search takes seconds at most: one
// service that hangs must not keep people waiting for the others.
func (x *executor) searchAttacks(ctx context.Context, accounts []*config.Account, typed string, past bool) (
	of *config.Account, found []record.KnownAttack, err error) {
	patience := whileCallLasts
	if len(accounts) > 1 {
		patience = accountPatience
	}
	type answer struct {
		hits []record.KnownAttack
		err  error
	}
	for _, atService := range []bool{false, true} {
		brief, cancel := context.WithTimeout(ctx, patience)
		answers := sideBySide(accounts, loadsAtOnce, func(a *config.Account) (got answer) {
			if atService {
				got.hits, got.err = x.listedAttacks(brief, a, typed)
			} else {
				got.hits, got.err = x.storedAttacks(brief, a, typed, past)
			}
			return got
		})
		cancel()
		for i, got := range answers {
			if err = cmp.Or(got.err, err); len(got.hits) > 0 {
				of, found = accounts[i], append(found, got.hits...)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return of, found, err
}

// idsMeant are the ids, or beginnings of ids, that what was typed can mean, the likelier first: it may also be the
// service's own id.
func idsMeant(a *config.Account, typed string) (ids []string) {
	if len(typed) >= record.MinPrefix {
		ids = append(ids, record.FoldID(typed))
	}
	return append(ids, record.AttackID(a.Name, typed))
}

// storedAttacks searches the stored attacks; there are none while Redis can't be reached. Buttons hold a whole id,
// which means one attack and is read alone; for a prefix all are scanned. If past is set, it also finds an attack that
// has only its evidence left.
func (x *executor) storedAttacks(ctx context.Context, a *config.Account, typed string, past bool) (
	hits []record.KnownAttack, err error) {
	whole, attacks := false, x.Store.Attacks
	for _, id := range idsMeant(a, typed) {
		if whole || err != nil {
			break
		}
		known := map[string]apiclient.Attack{}
		if record.IsAttackID(id) {
			known[id], whole, err = attacks.KnownAttack(ctx, a.Name, id)
		} else {
			known, err = attacks.FindAttacks(ctx, a.Name, id)
		}
		for id, attack := range known {
			if attack.ID != "" {
				hits = append(hits, record.KnownAttack{ID: id, Attack: attack})
			}
		}
	}
	if err != nil {
		x.Log.WarnContext(ctx, "read known attacks", "account", a.Name, "err", err)
	}
	if len(hits) > 0 || !past {
		return hits, nil
	}
	id := record.FoldID(typed)
	e, ok, err := attacks.Evidence(ctx, a.Name, id)
	switch {
	case err != nil:
		x.Log.WarnContext(ctx, "read evidence", "account", a.Name, "err", err)
		return nil, &refusal.Refusal{Kind: refusal.ErrAway, Cause: err, Text: text.Newf(
			"%v, and what is known of past attacks is in it. Try again in a moment", refusal.Store(err))}
	case ok:
		hits = []record.KnownAttack{{ID: id, Attack: e.First.Attack}}
	}
	return hits, nil
}

// listedAttacks looks among all that the service lists.
func (x *executor) listedAttacks(ctx context.Context, a *config.Account, typed string) ([]record.KnownAttack, error) {
	var hits []record.KnownAttack
	all, err := x.listAttacks(ctx, a, apiclient.AttackFilter{From: x.now(a.Name).Add(-a.Lookback)})
	for _, attack := range all {
		id := record.AttackID(a.Name, attack.ID)
		if slices.ContainsFunc(idsMeant(a, typed), func(typed string) bool { return strings.HasPrefix(id, typed) }) {
			hits = append(hits, record.KnownAttack{ID: id, Attack: attack})
		}
	}
	return hits, err
}

// listAttacks reads a listing to its end; a record that moved while pages were read counts once.
func (x *executor) listAttacks(ctx context.Context, a *config.Account, f apiclient.AttackFilter) (
	[]apiclient.Attack, error) {
	pages, err := apiclient.Collect(x.Services[a.Name].Attacks(ctx, f))
	seen := map[string]bool{}
	var all []apiclient.Attack
	for _, page := range pages {
		for _, attack := range page.Attacks {
			if !seen[attack.ID] {
				seen[attack.ID] = true
				all = append(all, attack)
			}
		}
	}
	return all, err
}
