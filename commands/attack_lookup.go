package commands

import (
	"context"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// resolveAttack finds the attack that was typed, by its id or any unique beginning of it; named tells that the account was given.
func (r *Runner) findAttackTyped(ctx context.Context, c *call.Call, typed string, named bool) error {
	accounts := c.InScope
	if named && c.Account != nil {
		accounts = []*call.Account{c.Account}
	}
	type found struct {
		account *call.Account
		attack  record.KnownAttack
	}
	var hits []found
	var lastErr error
	// The services are asked only when no account remembers it: one that hangs must not keep the others' people waiting.
	finders := []func(context.Context, *call.Account, string) ([]record.KnownAttack, error){r.storedAttacks, r.listedAttacks}
	if c.Cmd.Past {
		finders = append(finders, r.pastAttacks)
	}
	for _, find := range finders {
		for i, known := range sideBySide(ctx, accounts, func(ctx context.Context, a *call.Account) ([]record.KnownAttack, error) { return find(ctx, a, typed) }) {
			if known.Err != nil {
				lastErr = known.Err
			}
			for _, k := range known.Found {
				hits = append(hits, found{accounts[i], k})
			}
		}
		if len(hits) > 0 {
			break
		}
	}
	switch {
	case len(hits) == 1:
		c.Account, c.Attack = hits[0].account, &hits[0].attack
		return nil
	case len(hits) > 1:
		var ids []string
		for _, h := range hits {
			ids = append(ids, h.attack.ID)
		}
		return refusal.Usage(text.New(text.Code(text.Sanitize(typed, text.MaxField)), " fits several attacks: ", strings.Join(ids[:min(5, len(ids))], ", ")))
	case lastErr != nil:
		return refusal.FromService(lastErr)
	}
	if strings.HasPrefix(typed, "s") {
		return report.NoStorm(typed)
	}
	return refusal.Usage(text.New("no attack ", text.Code(text.Sanitize(typed, text.MaxField)), " in the last ", text.HumanDuration(accounts[0].Lookback), ": ", text.Code("attacks"), " lists them; at least ", record.MinPrefix, " characters of an id are needed"))
}

// idsTyped are the beginnings of ids that what was typed can mean: it may also be the service's own id.
func idsMeant(a *call.Account, typed string) []string {
	ids := []string{record.AttackID(a.Name, typed)}
	if len(typed) >= record.MinPrefix {
		ids = append(ids, record.FoldID(typed))
	}
	return ids
}

// rememberedAttacks looks among the remembered attacks; there are none while Redis is away.
func (r *Runner) storedAttacks(ctx context.Context, a *call.Account, typed string) ([]record.KnownAttack, error) {
	var hits []record.KnownAttack
	for _, id := range idsMeant(a, typed) {
		known, err := r.cfg.Attacks.FindAttacks(ctx, a.Name, id)
		if err != nil {
			r.cfg.Log.Warn("read known attacks", "account", a.Name, "err", err)
			break
		}
		for id, attack := range known {
			hits = append(hits, record.KnownAttack{ID: id, Attack: attack})
		}
	}
	return hits, nil
}

// listedAttacks looks among all that the service lists.
func (r *Runner) listedAttacks(ctx context.Context, a *call.Account, typed string) ([]record.KnownAttack, error) {
	var hits []record.KnownAttack
	ids := idsMeant(a, typed)
	all, err := r.listAttacks(ctx, a, apiclient.AttackFilter{From: r.cfg.Now().Add(-a.Lookback)})
	for _, attack := range all {
		if id := record.AttackID(a.Name, attack.ID); slices.ContainsFunc(ids, func(typed string) bool { return strings.HasPrefix(id, typed) }) {
			hits = append(hits, record.KnownAttack{ID: id, Attack: attack})
		}
	}
	return hits, err
}

// listAttacks reads a listing to its end; a record that moved while pages were read counts once.
func (r *Runner) listAttacks(ctx context.Context, a *call.Account, f apiclient.AttackFilter) ([]apiclient.Attack, error) {
	pages, err := collect(r.cfg.Services[a.Name].Attacks(ctx, f))
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
