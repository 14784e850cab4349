package verb

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func protect() *call.Command {
	return &call.Command{
		Name: "protect", Role: record.Admin,
		Summary: "never deny a source again, until unprotect; what must outlive Redis belongs into the configuration",
		Example: "protect 198.51.100.0/24 name=\"branch office\"",
		Args: []call.Arg{
			{Name: "target", Object: true, Many: true, Required: true, Read: readRange, Help: "an address, or a range as 203.0.113.0/24"},
			{Name: "name", Help: "what it is, for people"},
			{Name: "deny", Help: "never, or approval; left out: never", Read: call.OneOf(policy.DenyNever, policy.DenyApproval)},
			form.ArgAttack, form.ArgReason,
		},
		Write: writeProtect,
	}
}

func writeProtect(c *call.Call) (call.Result, error) {
	if err := c.LoadContext(); err != nil {
		return call.Result{}, refusal.Away(err)
	}
	targets, err := change.Targets(c)
	if err != nil {
		return call.Result{}, err
	}
	if err := approval.GuardProtecting(c, targets); err != nil {
		return call.Result{}, err
	}
	all, fresh := slices.Clone(c.Context.Protected), false
	var lines []text.Text
	for _, t := range targets {
		p := protected(c, t)
		i := slices.IndexFunc(all, func(have record.Protected) bool { return have.ID == p.ID })
		if i >= 0 && all[i].Name == p.Name && all[i].Deny == p.Deny {
			lines = append(lines, text.New("Protected already: ", describe.Protected(all[i])))
			continue
		}
		if fresh = true; i < 0 {
			all = append(all, p)
		} else {
			all[i] = p
		}
		lines = append(append(lines, text.New("Protected: ", describe.Protected(p))), deniedNow(c, t)...)
	}
	if !fresh {
		return call.Result{Outcome: "nothing", Lines: append(lines, text.New("Nothing was changed")), Data: all}, nil
	}
	return saveProtected(c, saved(all, lines...), all, targets...), nil
}

// saveProtected is the answer of a command that changed what is protected; the cards of attacks from what changed are stale.
func saveProtected(c *call.Call, res call.Result, all []record.Protected, changed ...grammar.Target) call.Result {
	cards := staleCards(c, func(a apiclient.Attack) bool {
		return slices.ContainsFunc(a.Sources, func(s apiclient.Source) bool {
			return slices.ContainsFunc(changed, func(t grammar.Target) bool { return t.Overlaps(grammar.OnlyAddr(s.IP)) })
		})
	})
	if attack := c.Line.Keys["attack"]; attack != "" && !slices.Contains(cards, attack) {
		cards = append(cards, attack)
	}
	res.Saves.Protected = &call.Replacement[record.Protected]{All: all, Stale: cards}
	return res
}

// protected is the range as the line protects it.
func protected(c *call.Call, t grammar.Target) record.Protected {
	keys := c.Line.Keys
	return record.Protected{
		ID: record.ProtectedID(c.Account.Name, t.String()), Range: t.Prefix, Name: keys["name"], Deny: cmp.Or(keys["deny"], policy.DenyNever), Reason: keys["reason"], By: c.Actor, At: c.Now,
	}
}

func unprotect() *call.Command {
	return &call.Command{
		Name: "unprotect", Role: record.Admin,
		Summary: "let a source be denied again that was protected; what the configuration names stays",
		Args: []call.Arg{
			{Name: "source", Object: true, Required: true, Help: "the id as sources shows it, or the address or range"},
			form.ArgAttack, form.ArgReason,
		},
		Write: writeUnprotect,
	}
}

func writeUnprotect(c *call.Call) (call.Result, error) {
	if err := c.LoadContext(); err != nil {
		return call.Result{}, refusal.Away(err)
	}
	word := c.Line.Words[0]
	t, err := grammar.ParseRange(word)
	var found []record.Protected
	for _, p := range c.Context.Protected {
		if err == nil && p.Range == t.Prefix || err != nil && record.MatchID(p.ID, word) {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		words := text.New(refusal.Typed(word), " is none of what was protected on ", c.Account.Name, ": ", text.Code("sources"), " lists it. Nothing was changed")
		if own, ok := c.Policy.SourceOf(t.Prefix.Addr()); err == nil && ok {
			words = text.New(text.Code(t.String()), " is ", text.Bold(text.Sanitize(own.Name, text.MaxField)), " by the configuration, or by nature: only who runs wafbot can change that. Nothing was changed")
		}
		return call.Result{}, refusal.Nothing(words)
	}
	left := slices.DeleteFunc(slices.Clone(c.Context.Protected), func(p record.Protected) bool { return p.ID == found[0].ID })
	res := saved(found[0], text.New("No longer protected: ", describe.Protected(found[0])))
	return saveProtected(c, res, left, grammar.RangeOf(found[0].Range)), nil
}

func sources() *call.Command {
	return &call.Command{
		Name: "sources", Role: record.Viewer, Flags: []string{"all"},
		Summary: "what is never denied, or only with approval: by the configuration, by an admin, by nature",
		Args:    []call.Arg{{Name: "text", Object: true, Help: "an address, or a part of a name or a range; left out: all"}, call.ArgPage},
		Read:    readSources,
	}
}

// namedSource is a source for programs.
type namedSource struct {
	Name      string            `json:"name"`
	Ranges    []netip.Prefix    `json:"ranges"`
	Deny      string            `json:"deny"`
	Cards     bool              `json:"cards"`
	By        string            `json:"by"` // configuration, wafbot, or protect
	File      string            `json:"file,omitempty"`
	Broken    string            `json:"broken,omitempty"`
	Protected *record.Protected `json:"protected,omitempty"`

	line text.Text
}

func readSources(c *call.Call) (call.Result, error) {
	away := c.LoadContext()
	var all []namedSource
	add := func(s policy.Source, by string, p *record.Protected, line text.Text) {
		if !s.Matches(c.Line.Words) {
			return
		}
		deny := policy.DenyNever
		if s.Deny == policy.DenyApproval {
			deny = policy.DenyApproval
		}
		all = append(all, namedSource{s.Name, s.Ranges, deny, !s.NoCards, by, s.File, s.Broken, p, line})
	}
	for _, s := range c.Policy.Named() {
		add(s, "configuration", nil, s.Line())
	}
	for _, p := range c.Context.Protected {
		add(policy.ProtectedSource(p), "protect", &p, describe.Protected(p))
	}
	for _, s := range policy.Builtin() {
		add(s, "wafbot", nil, text.New(s.Line(), ", by nature"))
	}
	head := text.New("Sources that are never denied, or only with approval, on ", c.Account.Name, ": ", len(all))
	if away != nil {
		head = text.New(head, ". What an admin protected is unknown: wafbot's store (Redis) can't be reached")
	}
	return listing(c, head, all, func(s namedSource) text.Text { return s.line })
}

// deniedNow says that a range is on the denylist, which protecting it doesn't change. That the list can't be read doesn't keep it from being protected.
func deniedNow(c *call.Call, t grammar.Target) []text.Text {
	entries, _ := c.Given().Entries(apiclient.IPRuleFilter{List: apiclient.ListDeny})
	want := apiclient.IPRule{Kind: t.Kind, Subnet: t.Prefix}
	i := slices.IndexFunc(entries, func(e apiclient.IPRule) bool { return efficacy.OverlapsEntry(e, want) })
	if i < 0 {
		return nil
	}
	e := entries[i]
	return []text.Text{text.New("It is denied now", describe.Until(e.Expires), describe.EntryAuthor(e), ", and stays so: ", text.Code("remove "+describe.EntrySources(e)+" list=black"), " takes it off")}
}

// offerProtect offers to protect what a change denied, to who may and to who can ask for it.
func offerProtect(c *call.Call, ch record.Change) []text.Text {
	if ch.Line.Name != change.Denying.Name {
		return nil
	}
	line := record.Line{Name: "protect"}
	if len(c.Accounts) > 1 {
		line = line.With("account", ch.Account)
	}
	for _, word := range ch.Line.Words {
		if t, err := grammar.ParseRange(word); err == nil && c.Policy.Protectable(t) {
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
