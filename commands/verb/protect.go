package verb

import (
	"cmp"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxProtected is how many ranges of an account are protected: each change is held against them.
const maxProtected = 500

func writeProtect(c *call.Call) (res call.Result, err error) {
	targets, err := change.Targets(c)
	if err != nil {
		return res, err
	}
	if err := approval.GuardProtecting(c, targets); err != nil {
		return res, err
	}
	all, fresh := slices.Clone(c.Context.Protected), false
	var lines text.Lines
	for _, t := range targets {
		p := protected(c, t)
		i := slices.IndexFunc(all, func(have record.Protected) bool { return have.ID == p.ID })
		if i >= 0 && all[i].Name == p.Name && all[i].Deny == p.Deny {
			lines.Add("Protected already: ", words.Protected(all[i]))
			continue
		}
		if fresh = true; i < 0 {
			all = append(all, p)
		} else {
			all[i] = p
		}
		lines = append(append(lines, text.New("Protected: ", words.Protected(p))), deniedNow(c, t)...)
	}
	if len(all) > maxProtected {
		return res, refusal.Guarded("more than %v ranges would be protected, and no more are kept: write them into "+
			"`sources` of the configuration", maxProtected)
	}
	if !fresh {
		return call.Result{Outcome: "nothing", Lines: lines, Data: all}, nil
	}
	return saveProtected(c, saved(all, lines...), all, targets...), nil
}

// protected is the range as the line protects it.
func protected(c *call.Call, t grammar.Target) record.Protected {
	keys := c.Line.Keys
	return record.Protected{
		ID: record.ProtectedID(c.Account.Name, t.String()), Range: t.Prefix, Name: keys["name"],
		Deny: cmp.Or(keys["deny"], config.DenyNever), Reason: keys["reason"], By: c.Actor, At: c.Now,
	}
}

// deniedNow says that a range is on the denylist, which protecting it doesn't change. That the list can't be read
// doesn't keep it from being protected.
func deniedNow(c *call.Call, t grammar.Target) text.Lines {
	entries := c.Facts.Entries.Value
	i := slices.IndexFunc(entries, func(e apiclient.IPRule) bool {
		return e.Kind == apiclient.KindRange && t.Overlaps(e.Subnet)
	})
	if i < 0 {
		return nil
	}
	e := entries[i]
	return text.Lines{text.Newf("It is denied now%v%v, and stays so: `remove %v list=black` takes it off",
		words.Until(e.Expires), words.Author(e), words.Sources(e))}
}

func writeUnprotect(c *call.Call) (res call.Result, err error) {
	word := c.Line.Words[0]
	t, err := grammar.ParseRange(word)
	var found []record.Protected
	for _, p := range c.Context.Protected {
		if err == nil && p.Range == t.Prefix || err != nil && record.MatchID(p.ID, word) {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		if own, ok := c.Policy.SourceOf(apiclient.Source{IP: t.Prefix.Addr()}); err == nil && ok {
			return res, refusal.Nothing("`%v` is *%v* by the configuration, or by nature: only who runs wafbot "+
				"can change that", t.String(), text.Field(own.Name))
		}
		return res, refusal.Nothing("%v is not protected on %v: `sources` lists what is", refusal.Typed(word),
			c.Account.Name)
	}
	left := slices.DeleteFunc(slices.Clone(c.Context.Protected),
		func(p record.Protected) bool { return p.ID == found[0].ID })
	res = saved(found[0], text.New("No longer protected: ", words.Protected(found[0])))
	return saveProtected(c, res, left, grammar.RangeOf(found[0].Range)), nil
}
