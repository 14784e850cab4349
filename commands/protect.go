package commands

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Protected is a range that an admin had named while wafbot runs, so that it isn't denied again.
type Protected struct {
	ID     string       `json:"id"` // of the range: the same again has the same
	Range  netip.Prefix `json:"range"`
	Name   string       `json:"name,omitempty"` // for people
	Deny   string       `json:"deny"`           // DenyNever or DenySecond
	Reason string       `json:"reason,omitempty"`
	By     Actor        `json:"by"`
	At     time.Time    `json:"at"`
}

// source is it as guards and cards take it.
func (p Protected) source() Source {
	return Source{Name: Visible(cmp.Or(p.Name, "protected by "+p.By.Name), maxField), Ranges: []netip.Prefix{p.Range}, Deny: p.Deny}
}

// ProtectedLine is it in one line: what, whose, since when.
func ProtectedLine(p Protected) Text {
	line := Say(Code(rangeOf(p.Range).String()), " ", Bold(p.source().Name), ", ", howDenied(p.Deny), ", by ", Visible(p.By.Name, maxField), " ", p.At, " ", Code(p.ID))
	if p.Reason != "" {
		line = Say(line, ": ", Visible(p.Reason, maxField))
	}
	return line
}

func howDenied(deny string) string {
	if deny == DenySecond {
		return "denied only with a second person"
	}
	return "never denied"
}

func protect() *Command {
	return &Command{
		Name: "protect", Role: Admin,
		Summary: "never deny a source again, until unprotect; what must outlive Redis belongs into the configuration",
		Example: "protect 198.51.100.0/24 name=\"branch office\"",
		Args: []Arg{
			{Name: "target", Object: true, Many: true, Required: true, Read: readRange, Help: "an address, or a range as 203.0.113.0/24"},
			{Name: "name", Help: "what it is, for people"},
			{Name: "deny", Help: "never, or second_person; left out: never", Read: oneOf(DenyNever, DenySecond)},
			argAttack, argReason,
		},
		Write: writeProtect,
	}
}

func writeProtect(ctx context.Context, c *Call) (Result, error) {
	if err := c.look(ctx); err != nil {
		return Result{}, Away(err)
	}
	targets, err := c.targets()
	if err != nil {
		return Result{}, err
	}
	if err := c.guardProtecting(targets); err != nil {
		return Result{}, err
	}
	all, fresh := slices.Clone(c.scene.Protected), false
	var lines []Text
	for _, t := range targets {
		p := c.protected(t)
		i := slices.IndexFunc(all, func(have Protected) bool { return have.ID == p.ID })
		if i >= 0 && all[i].Name == p.Name && all[i].Deny == p.Deny {
			lines = append(lines, Say("Protected already: ", ProtectedLine(all[i])))
			continue
		}
		if fresh = true; i < 0 {
			all = append(all, p)
		} else {
			all[i] = p
		}
		lines = append(append(lines, Say("Protected: ", ProtectedLine(p))), c.deniedNow(ctx, t)...)
	}
	if !fresh {
		return Result{Outcome: "nothing", Lines: append(lines, Say("Nothing was changed")), Data: all}, nil
	}
	if err := c.keepProtected(ctx, all, targets...); err != nil {
		return Result{}, err
	}
	return written(all, lines...), nil
}

// keepProtected writes down what is protected, and has the cards of what comes from where that changed offer what may be done now.
func (c *Call) keepProtected(ctx context.Context, all []Protected, changed ...Target) error {
	cards := c.cardsOf(ctx, func(a apiclient.Attack) bool {
		return slices.ContainsFunc(a.Sources, func(s apiclient.Source) bool {
			return slices.ContainsFunc(changed, func(t Target) bool { return t.overlaps(onlyAddr(s.IP)) })
		})
	})
	if attack := c.Line.Keys["attack"]; attack != "" && !slices.Contains(cards, attack) {
		cards = append(cards, attack)
	}
	if err := c.lock.SaveProtected(ctx, all, cards...); err != nil {
		return Away(err)
	}
	return nil
}

// guardProtecting refuses what is so wide that hardly anything could be denied any more, and asks about what is merely wide.
func (c *Call) guardProtecting(targets []Target) error {
	p := Plan{Line: c.Line, Does: "Protect " + severalTargets(targets)}
	for _, t := range targets {
		if !c.cfg.Policy.protectable(t) {
			return guarded(Say(Code(t.String()), " is too wide to be protected: nothing in it could ever be denied again, whoever attacks from there. Nothing was changed"))
		}
		if c.cfg.Policy.wide(t) {
			p.Warnings = append(p.Warnings, Warning{Text: Say(Code(t.String()), " is wide: nothing in it can be denied any more, whoever attacks from there")})
		}
	}
	return c.ask(c, []Plan{p})
}

// protected is the range as the line has it protected.
func (c *Call) protected(t Target) Protected {
	keys := c.Line.Keys
	return Protected{
		ID: protectedID(c.Account.Name, t.String()), Range: t.Prefix, Name: keys["name"], Deny: cmp.Or(keys["deny"], DenyNever), Reason: keys["reason"], By: c.Actor, At: c.Now,
	}
}

// deniedNow says that a range is on the denylist, which protecting it doesn't change. That the list can't be read keeps nobody from protecting.
func (c *Call) deniedNow(ctx context.Context, t Target) []Text {
	entries, err := collect(c.Account.API.IPRules(ctx, apiclient.IPRuleFilter{List: apiclient.ListDeny}))
	if err != nil {
		c.cfg.Log.Warn("look whether it is denied", "account", c.Account.Name, "err", err)
	}
	want := apiclient.IPRule{Kind: t.Kind, Subnet: t.Prefix}
	i := slices.IndexFunc(entries, func(e apiclient.IPRule) bool { return overlapsEntry(e, want) })
	if i < 0 {
		return nil
	}
	e := entries[i]
	return []Text{Say("It is denied now", untilText(e.Expires), byText(e), ", and stays so: ", Code("remove "+names(e)+" list=black"), " takes it off")}
}

func unprotect() *Command {
	return &Command{
		Name: "unprotect", Role: Admin,
		Summary: "let a source be denied again that was protected; what the configuration names stays",
		Args: []Arg{
			{Name: "source", Object: true, Required: true, Help: "the id as sources shows it, or the address or range"},
			argAttack, argReason,
		},
		Write: writeUnprotect,
	}
}

func writeUnprotect(ctx context.Context, c *Call) (Result, error) {
	if err := c.look(ctx); err != nil {
		return Result{}, Away(err)
	}
	word := c.Line.Words[0]
	t, err := parseRange(word)
	var found []Protected
	for _, p := range c.scene.Protected {
		if err == nil && p.Range == t.Prefix || err != nil && matchID(p.ID, word) {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		text := Say(typed(word), " is none of what was protected on ", c.Account.Name, ": ", Code("sources"), " lists it. Nothing was changed")
		if own, ok := c.cfg.Policy.SourceOf(t.Prefix.Addr()); err == nil && ok {
			text = Say(Code(t.String()), " is ", Bold(Visible(own.Name, maxField)), " by the configuration, or by nature: only who runs wafbot can change that. Nothing was changed")
		}
		return Result{}, nothing(text)
	}
	left := slices.DeleteFunc(slices.Clone(c.scene.Protected), func(p Protected) bool { return p.ID == found[0].ID })
	if err := c.keepProtected(ctx, left, rangeOf(found[0].Range)); err != nil {
		return Result{}, err
	}
	return written(found[0], Say("No longer protected: ", ProtectedLine(found[0]))), nil
}

// neverAgain offers to protect what a change denied, to who may and to who can ask for it.
func (c *Call) neverAgain(ch Change) []Text {
	if ch.Line.Name != denying.name {
		return nil
	}
	line := Line{Name: "protect"}
	if len(c.cfg.Accounts) > 1 {
		line = line.With("account", ch.Account)
	}
	for _, word := range ch.Line.Words {
		if t, err := parseRange(word); err == nil && c.cfg.Policy.protectable(t) {
			line.Words = append(line.Words, t.String())
		}
	}
	switch {
	case len(line.Words) == 0:
		return nil
	case c.Role >= Admin:
		return []Text{Say("Never deny it again? ", Code(line.String()))}
	}
	return []Text{Say("If it must never be denied again, an admin can say so: ", Code(line.String()))}
}
