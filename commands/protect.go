package commands

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// source is it as guards and cards take it.
func protectedSource(p record.Protected) Source {
	return Source{Name: text.Sanitize(cmp.Or(p.Name, "protected by "+p.By.Name), text.MaxField), Ranges: []netip.Prefix{p.Range}, Deny: p.Deny}
}

// protectedLine is it in one line: what, whose, since when.
func protectedLine(p record.Protected) text.Text {
	line := text.New(text.Code(grammar.RangeOf(p.Range).String()), " ", text.Bold(protectedSource(p).Name), ", ", howDenied(p.Deny), ", by ", text.Sanitize(p.By.Name, text.MaxField), " ", p.At, " ", text.Code(p.ID))
	if p.Reason != "" {
		line = text.New(line, ": ", text.Sanitize(p.Reason, text.MaxField))
	}
	return line
}

func howDenied(deny string) string {
	if deny == DenySecond {
		return "denied only with approval"
	}
	return "never denied"
}

func protect() *Command {
	return &Command{
		Name: "protect", Role: record.Admin,
		Summary: "never deny a source again, until unprotect; what must outlive Redis belongs into the configuration",
		Example: "protect 198.51.100.0/24 name=\"branch office\"",
		Args: []Arg{
			{Name: "target", Object: true, Many: true, Required: true, Read: readRange, Help: "an address, or a range as 203.0.113.0/24"},
			{Name: "name", Help: "what it is, for people"},
			{Name: "deny", Help: "never, or approval; left out: never", Read: oneOf(DenyNever, DenySecond)},
			argAttack, argReason,
		},
		Write: writeProtect,
	}
}

func writeProtect(c *Call) (Result, error) {
	if err := c.look(); err != nil {
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
	var lines []text.Text
	for _, t := range targets {
		p := c.protected(t)
		i := slices.IndexFunc(all, func(have record.Protected) bool { return have.ID == p.ID })
		if i >= 0 && all[i].Name == p.Name && all[i].Deny == p.Deny {
			lines = append(lines, text.New("Protected already: ", protectedLine(all[i])))
			continue
		}
		if fresh = true; i < 0 {
			all = append(all, p)
		} else {
			all[i] = p
		}
		lines = append(append(lines, text.New("Protected: ", protectedLine(p))), c.deniedNow(t)...)
	}
	if !fresh {
		return Result{Outcome: "nothing", Lines: append(lines, text.New("Nothing was changed")), Data: all}, nil
	}
	return c.keepProtected(written(all, lines...), all, targets...), nil
}

// keepProtected writes down what is protected, and has the cards of what comes from where that changed offer what may be done now.
func (c *Call) keepProtected(res Result, all []record.Protected, changed ...grammar.Target) Result {
	cards := c.cardsOf(func(a apiclient.Attack) bool {
		return slices.ContainsFunc(a.Sources, func(s apiclient.Source) bool {
			return slices.ContainsFunc(changed, func(t grammar.Target) bool { return t.Overlaps(onlyAddr(s.IP)) })
		})
	})
	if attack := c.Line.Keys["attack"]; attack != "" && !slices.Contains(cards, attack) {
		cards = append(cards, attack)
	}
	res.Saves.Protected = &ProtectedSave{All: all, Stale: cards}
	return res
}

// guardProtecting refuses what is so wide that hardly anything could be denied any more, and asks about what is merely wide.
func (c *Call) guardProtecting(targets []grammar.Target) error {
	p := Plan{Line: c.Line, Does: "Protect " + severalTargets(targets)}
	for _, t := range targets {
		if !c.Policy.protectable(t) {
			return refusal.Guarded(text.New(text.Code(t.String()), " is too wide to be protected: nothing in it could ever be denied again, whoever attacks from there. Nothing was changed"))
		}
		if c.Policy.wide(t) {
			p.Warnings = append(p.Warnings, refusal.Warning{Text: text.New(text.Code(t.String()), " is wide: nothing in it can be denied any more, whoever attacks from there")})
		}
	}
	return ask(c, []Plan{p})
}

// protected is the range as the line has it protected.
func (c *Call) protected(t grammar.Target) record.Protected {
	keys := c.Line.Keys
	return record.Protected{
		ID: record.ProtectedID(c.Account.Name, t.String()), Range: t.Prefix, Name: keys["name"], Deny: cmp.Or(keys["deny"], DenyNever), Reason: keys["reason"], By: c.Actor, At: c.Now,
	}
}

// deniedNow says that a range is on the denylist, which protecting it doesn't change. That the list can't be read keeps nobody from protecting.
func (c *Call) deniedNow(t grammar.Target) []text.Text {
	entries, err := c.given().Entries(apiclient.IPRuleFilter{List: apiclient.ListDeny})
	if err != nil {
	}
	want := apiclient.IPRule{Kind: t.Kind, Subnet: t.Prefix}
	i := slices.IndexFunc(entries, func(e apiclient.IPRule) bool { return overlapsEntry(e, want) })
	if i < 0 {
		return nil
	}
	e := entries[i]
	return []text.Text{text.New("It is denied now", untilText(e.Expires), byText(e), ", and stays so: ", text.Code("remove "+names(e)+" list=black"), " takes it off")}
}

func unprotect() *Command {
	return &Command{
		Name: "unprotect", Role: record.Admin,
		Summary: "let a source be denied again that was protected; what the configuration names stays",
		Args: []Arg{
			{Name: "source", Object: true, Required: true, Help: "the id as sources shows it, or the address or range"},
			argAttack, argReason,
		},
		Write: writeUnprotect,
	}
}

func writeUnprotect(c *Call) (Result, error) {
	if err := c.look(); err != nil {
		return Result{}, Away(err)
	}
	word := c.Line.Words[0]
	t, err := grammar.ParseRange(word)
	var found []record.Protected
	for _, p := range c.scene.Protected {
		if err == nil && p.Range == t.Prefix || err != nil && record.MatchID(p.ID, word) {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		words := text.New(refusal.Typed(word), " is none of what was protected on ", c.Account.Name, ": ", text.Code("sources"), " lists it. Nothing was changed")
		if own, ok := c.Policy.SourceOf(t.Prefix.Addr()); err == nil && ok {
			words = text.New(text.Code(t.String()), " is ", text.Bold(text.Sanitize(own.Name, text.MaxField)), " by the configuration, or by nature: only who runs wafbot can change that. Nothing was changed")
		}
		return Result{}, refusal.Nothing(words)
	}
	left := slices.DeleteFunc(slices.Clone(c.scene.Protected), func(p record.Protected) bool { return p.ID == found[0].ID })
	res := written(found[0], text.New("No longer protected: ", protectedLine(found[0])))
	return c.keepProtected(res, left, grammar.RangeOf(found[0].Range)), nil
}

// neverAgain offers to protect what a change denied, to who may and to who can ask for it.
func (c *Call) neverAgain(ch record.Change) []text.Text {
	if ch.Line.Name != denying.name {
		return nil
	}
	line := record.Line{Name: "protect"}
	if len(c.Accounts) > 1 {
		line = line.With("account", ch.Account)
	}
	for _, word := range ch.Line.Words {
		if t, err := grammar.ParseRange(word); err == nil && c.Policy.protectable(t) {
			line.Words = append(line.Words, t.String())
		}
	}
	switch {
	case len(line.Words) == 0:
		return nil
	case c.Role >= record.Admin:
		return []text.Text{text.New("Never deny it again? ", text.Code(line.String()))}
	}
	return []text.Text{text.New("If it must never be denied again, an admin can say so: ", text.Code(line.String()))}
}
