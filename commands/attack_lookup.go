package commands

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// KnownAttack is an attack with the id that people type.
type KnownAttack struct {
	ID string
	apiclient.Attack
}

// topSource is the busiest source that the service lists.
func (k *KnownAttack) topSource() (grammar.Target, bool) {
	top, ok := TopSource(k.Attack)
	if !ok {
		return grammar.Target{}, false
	}
	t, err := grammar.ParseTarget(top.IP.String())
	return t, err == nil
}

// TopSource is the busiest of the attack's listed sources.
func TopSource(a apiclient.Attack) (apiclient.Source, bool) {
	if len(a.Sources) == 0 {
		return apiclient.Source{}, false
	}
	return slices.MaxFunc(a.Sources, func(x, y apiclient.Source) int { return int(x.Hits.N - y.Hits.N) }), true
}

// attackTyped is what a line names as its attack: its attack= key, or its object where the command is about one.
func attackTyped(cmd *Command, l record.Line) string {
	if typed := l.Keys["attack"]; typed != "" {
		return typed
	}
	if cmd.Name == "attack" && len(l.Words) > 0 {
		return l.Words[0]
	}
	return ""
}

// attackArg is the argument that names the attack which the command is about; ok tells whether it can be about one.
func (c *Command) attackArg() (arg Arg, ok bool) {
	i := slices.IndexFunc(c.Args, func(arg Arg) bool { return c.Name == "attack" || arg.Name == "attack" && !arg.Object })
	if i < 0 {
		return Arg{}, false
	}
	return c.Args[i], true
}

// impliesAttack reports whether the command is about the attack in whose thread its line is, where that names none.
func (c *Command) impliesAttack() bool {
	arg, ok := c.attackArg()
	return ok && !arg.Typed
}

// withAttack is the line with the attack's whole id.
func withAttack(cmd *Command, l record.Line, id string) record.Line {
	if cmd.Name == "attack" {
		l.Words = append([]string{id}, l.Words[min(1, len(l.Words)):]...)
		return l
	}
	return l.With("attack", id)
}

// resolveAttack finds the attack that was typed, by its id or any unique beginning of it; named tells that the account was given.
func (r *Runner) resolveAttack(ctx context.Context, c *Call, typed string, named bool) error {
	accounts := c.All
	if named && c.Account != nil {
		accounts = []*Account{c.Account}
	}
	type found struct {
		account *Account
		attack  KnownAttack
	}
	var hits []found
	var lastErr error
	// The services are asked only when no account remembers it: one that hangs must not keep the others' people waiting.
	finders := []func(context.Context, *Account, string) ([]KnownAttack, error){r.rememberedAttacks, r.listedAttacks}
	if c.Cmd.Past {
		finders = append(finders, r.pastAttacks)
	}
	for _, find := range finders {
		for i, known := range sideBySide(ctx, accounts, func(ctx context.Context, a *Account) ([]KnownAttack, error) { return find(ctx, a, typed) }) {
			if known.err != nil {
				lastErr = known.err
			}
			for _, k := range known.found {
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
		return forPeople(lastErr)
	}
	if strings.HasPrefix(typed, "s") {
		return noStorm(typed)
	}
	return refusal.Usage(text.New("no attack ", text.Code(text.Sanitize(typed, text.MaxField)), " in the last ", text.HumanDuration(accounts[0].Lookback), ": ", text.Code("attacks"), " lists them; at least ", record.MinPrefix, " characters of an id are needed"))
}

// idsTyped are the beginnings of ids that what was typed can mean: it may also be the service's own id.
func idsTyped(a *Account, typed string) []string {
	ids := []string{record.AttackID(a.Name, typed)}
	if len(typed) >= record.MinPrefix {
		ids = append(ids, record.FoldID(typed))
	}
	return ids
}

// rememberedAttacks looks among the remembered attacks; there are none while Redis is away.
func (r *Runner) rememberedAttacks(ctx context.Context, a *Account, typed string) ([]KnownAttack, error) {
	var hits []KnownAttack
	for _, id := range idsTyped(a, typed) {
		known, err := r.cfg.Facts.FindAttacks(ctx, a.Name, id)
		if err != nil {
			r.cfg.Log.Warn("read known attacks", "account", a.Name, "err", err)
			break
		}
		for id, attack := range known {
			hits = append(hits, KnownAttack{id, attack})
		}
	}
	return hits, nil
}

// knownAttacks are all the account's remembered attacks and storms, by their ids.
func (c *Call) knownAttacks() (map[string]apiclient.Attack, error) {
	all := map[string]apiclient.Attack{}
	attacks, err := c.given().KnownAttacks("a")
	storms, stormsErr := c.given().KnownAttacks("s")
	maps.Copy(all, attacks)
	maps.Copy(all, storms)
	return all, errors.Join(err, stormsErr)
}

// listedAttacks looks among all that the service lists.
func (r *Runner) listedAttacks(ctx context.Context, a *Account, typed string) ([]KnownAttack, error) {
	var hits []KnownAttack
	ids := idsTyped(a, typed)
	all, err := r.listAttacks(ctx, a, apiclient.AttackFilter{From: r.cfg.Now().Add(-a.Lookback)})
	for _, attack := range all {
		if id := record.AttackID(a.Name, attack.ID); slices.ContainsFunc(ids, func(typed string) bool { return strings.HasPrefix(id, typed) }) {
			hits = append(hits, KnownAttack{id, attack})
		}
	}
	return hits, err
}

// listAttacks reads a listing to its end; a record that moved while pages were read counts once.
func (r *Runner) listAttacks(ctx context.Context, a *Account, f apiclient.AttackFilter) ([]apiclient.Attack, error) {
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
