package commands

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Scenes remembers the scenes of accounts.
type Scenes interface {
	Scene(ctx context.Context, account string) (record.AccountContext, error)
}

// look reads the scene of the call's account.
func (c *Call) look() error {
	scene, err := c.given().Context()
	if err == nil {
		c.scene = scene
	}
	return err
}

// policy is the configured one, with what is protected on the account.
func (c *Call) policy() Policy { return c.Policy.With(c.scene.Protected) }

// crowds warns of targets that are somebody's own or likely many people's, and of broad ones, where wafbot can't know it: unless a second person is
// asked, who is told.
// Of a narrow range it is only said afterwards.
func (c *Call) crowds(p *Plan, targets []grammar.Target) {
	second := c.Policy.SecondPerson
	for _, t := range targets {
		for _, s := range c.policy().named() {
			if what := s.hitBy(t); what != nil && !slices.Contains(second, SecondSource) {
				p.Warnings = append(p.Warnings, refusal.Warning{Text: what})
			}
		}
		blind := text.New(neverVisitors, ": nobody can tell whom else ", text.Code(t.String()), " hits")
		switch broad := t.Kind != apiclient.KindRange || c.Policy.wide(t); {
		case broad && !slices.Contains(second, SecondBroad):
			p.Warnings = append(p.Warnings, refusal.Warning{Text: blind})
		case !broad && !t.Prefix.IsSingleIP():
			p.Notes = append(p.Notes, blind)
		}
		if at, seen, ok := accountContextBusiest(c.scene, t); ok {
			p.Warnings = append(p.Warnings, refusal.Warning{Text: crowdWords(at, seen), Known: c.Line.Has(flagShared)})
		}
	}
}

// warnings are what the form of the call's command should say of its attack before anything is chosen.
func (c *Call) warnings() (all []text.Text) {
	if err := c.look(); err != nil {
		return nil // the guards look again
	}
	if top, ok := c.Attack.topSource(); ok && slices.Contains(c.Cmd.Flags, flagShared) {
		if at, seen, shared := accountContextBusiest(c.scene, top); shared {
			all = append(all, crowdWords(at, seen))
		}
	}
	if !c.scene.Locked.IsZero() && slices.Contains(c.Cmd.Flags, flagLocked) {
		all = append(all, lockedWords(c.scene.Locked))
	}
	return all
}

// busiest is the busiest of the sources in a target that are likely many people's.
func accountContextBusiest(s record.AccountContext, t grammar.Target) (at grammar.Target, busiest record.SourceActivity, ok bool) {
	var in []netip.Addr
	for source, seen := range s.Seen {
		if SourceActivityShared(seen) && t.Overlaps(onlyAddr(source)) {
			in = append(in, source)
		}
	}
	if len(in) == 0 {
		return grammar.Target{}, record.SourceActivity{}, false
	}
	first := slices.MinFunc(in, func(x, y netip.Addr) int {
		return cmp.Or(s.Seen[y].Attacks-s.Seen[x].Attacks, x.Compare(y))
	})
	return grammar.RangeOf(onlyAddr(first)), s.Seen[first], true
}

// onlyAddr is the range of one address.
func onlyAddr(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap()
	return netip.PrefixFrom(addr, addr.BitLen())
}

// locked warns whoever clicked on a button whose dialog doesn't say so yet that the service may refuse to change rules. Who types isn't asked:
// nothing worse can come of it than that answer.
func (c *Call) locked() []refusal.Warning {
	if c.scene.Locked.IsZero() || !c.Warned || c.Line.Has(flagLocked) {
		return nil
	}
	return []refusal.Warning{{Text: lockedWords(c.scene.Locked)}}
}

// noteLocked remembers whether the service has locked its rules, as what became of a change tells.
func (r *Runner) noteLocked(ctx context.Context, c *job, ch record.Change, fault error) {
	rules := slices.ContainsFunc(ch.Steps, func(s record.Step) bool { return s.Rule != nil })
	var at time.Time
	switch {
	case apiclient.KindOf(fault) == apiclient.Locked:
		at = r.cfg.Now()
	case fault != nil || !rules || c.scene.Locked.IsZero():
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := c.lock.SaveLocked(ctx, at); err != nil {
		r.cfg.Log.Warn("write down whether rules are locked", "account", ch.Account, "err", err)
	}
}

// A source in so many attacks on so many applications is likely not one attacker but something that many people come through. Both are asked
// for: one attacker who tries everything on one application leaves many attacks too.
const (
	sharedAttacks = 10
	sharedApps    = 3
)

// Shared reports whether the source is likely a CDN, a proxy or an office.
func SourceActivityShared(s record.SourceActivity) bool {
	return s.Attacks >= sharedAttacks && s.Apps >= sharedApps
}

// Elsewhere says in how many other attacks a source of an attack is; "" if in none that is known.
func SourceActivityElsewhere(s record.SourceActivity, a apiclient.Attack, source netip.Addr) string {
	n := s.Besides(&a, source)
	if n == 0 {
		return ""
	}
	if s.Apps < 2 {
		return "also in " + text.Count(n, "other attack")
	}
	return "also in " + text.Count(n, "other attack") + ", on " + text.Count(s.Apps, "application") + " in all"
}
