package commands

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// foundAttack is an attack of one account.
type foundAttack struct {
	account *config.Account
	attack  record.KnownAttack
}

// findAttackTyped finds the attack that was typed, by its id or any unique beginning of it, and with it the account.
func findAttackTyped(ctx context.Context, c *job, typed string) error {
	accounts := c.Accounts
	if c.named() != "" && c.Account != nil {
		accounts = []*config.Account{c.Account}
	}
	found, err := c.searchAttacks(ctx, accounts, typed, c.Cmd.Past)
	switch {
	case len(found) == 1:
		c.On(found[0].account)
		c.Attack = &found[0].attack
		return nil
	case len(found) > 1:
		var ids []string
		for _, f := range found {
			ids = append(ids, f.attack.ID)
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

// attackTyped is the attack that a line names, or which its place implies; "": neither.
func (c *job) attackTyped() (typed string, implied bool) {
	typed = call.AttackNamed(c.Cmd, c.Line)
	if implied = typed == "" && c.Cmd.ImpliesAttack(); implied {
		typed = c.Invocation.Attack
	}
	return typed, implied
}

// searchAttacks searches the store, then the services, then, where past is set, the evidence of past attacks, until one
// of them finds something. The services are asked only when no account's store knows it. Of several accounts each gets
// some seconds: one whose service hangs must not keep people waiting for the others.
func (l *loader) searchAttacks(ctx context.Context, accounts []*config.Account, typed string, past bool) (found []foundAttack, err error) {
	type answer struct {
		hits []record.KnownAttack
		err  error
	}
	searches := []func(context.Context, *config.Account, string) ([]record.KnownAttack, error){l.storedAttacks, l.listedAttacks}
	if past {
		searches = append(searches, l.pastAttacks)
	}
	for _, search := range searches {
		patient, cancel := ctx, func() {}
		if len(accounts) > 1 {
			patient, cancel = context.WithTimeout(ctx, accountPatience)
		}
		answers := sideBySide(accounts, loadsAtOnce, func(a *config.Account) (got answer) {
			got.hits, got.err = search(patient, a, typed)
			return got
		})
		cancel()
		for i, got := range answers {
			err = cmp.Or(got.err, err)
			for _, k := range got.hits {
				found = append(found, foundAttack{accounts[i], k})
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return found, err
}

// idsMeant are the ids, or beginnings of ids, that what was typed can mean, the likelier first: it may also be the
// service's own id.
func idsMeant(a *config.Account, typed string) (ids []string) {
	if len(typed) >= record.MinPrefix {
		ids = append(ids, record.FoldID(typed))
	}
	return append(ids, record.AttackID(a.Name, typed))
}

// storedAttacks looks among the stored attacks; there are none while Redis can't be reached.
func (l *loader) storedAttacks(ctx context.Context, a *config.Account, typed string) ([]record.KnownAttack, error) {
	var hits []record.KnownAttack
	for _, id := range idsMeant(a, typed) {
		known, err := l.knownAttacks(ctx, a.Name, id)
		if err != nil {
			l.Log.WarnContext(ctx, "read known attacks", "account", a.Name, "err", err)
			break
		}
		for id, attack := range known {
			hits = append(hits, record.KnownAttack{ID: id, Attack: attack})
		}
		if _, whole := known[id]; whole {
			break // as a button names it: it means nothing else
		}
	}
	return hits, nil
}

// knownAttacks are the stored attacks whose id begins so. A whole id, which is what buttons hold, is read alone: a
// prefix has all of them scanned.
func (l *loader) knownAttacks(ctx context.Context, account, id string) (map[string]apiclient.Attack, error) {
	if !record.IsAttackID(id) {
		return l.Store.Attacks.FindAttacks(ctx, account, id)
	}
	attack, ok, err := l.Store.Attacks.KnownAttack(ctx, account, id)
	if err != nil || !ok {
		return nil, err
	}
	return map[string]apiclient.Attack{id: attack}, nil
}

// listedAttacks looks among all that the service lists.
func (l *loader) listedAttacks(ctx context.Context, a *config.Account, typed string) ([]record.KnownAttack, error) {
	var hits []record.KnownAttack
	ids := idsMeant(a, typed)
	all, err := l.listAttacks(ctx, a, apiclient.AttackFilter{From: l.now(a.Name).Add(-a.Lookback)})
	for _, attack := range all {
		if id := record.AttackID(a.Name, attack.ID); slices.ContainsFunc(ids, func(typed string) bool { return strings.HasPrefix(id, typed) }) {
			hits = append(hits, record.KnownAttack{ID: id, Attack: attack})
		}
	}
	return hits, err
}

// pastAttacks is the attack with that whole id, if only its evidence is left.
func (l *loader) pastAttacks(ctx context.Context, a *config.Account, typed string) ([]record.KnownAttack, error) {
	id := record.FoldID(typed)
	e, ok, err := l.Store.Attacks.Evidence(ctx, a.Name, id)
	if err != nil {
		l.Log.WarnContext(ctx, "read evidence", "account", a.Name, "err", err)
		return nil, &refusal.Refusal{Kind: refusal.ErrAway, Cause: err, Text: text.New(refusal.Store(err), ", and what is known of past attacks is in it. Try again in a moment")}
	}
	if !ok {
		return nil, nil
	}
	return []record.KnownAttack{{ID: id, Attack: e.First.Attack}}, nil
}

// listAttacks reads a listing to its end; a record that moved while pages were read counts once.
func (l *loader) listAttacks(ctx context.Context, a *config.Account, f apiclient.AttackFilter) ([]apiclient.Attack, error) {
	pages, err := apiclient.Collect(l.Services[a.Name].Attacks(ctx, f))
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
