package verb

import (
	"slices"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func unprotect() *call.Command {
	return command(`unprotect: admin
let a source be denied again that was protected; what the configuration names stays
SOURCE: the id as sources shows it, or the address or range
[attack=]
[reason=]
Example: unprotect 203.0.113.7`, call.Command{
		Needs: call.Needs{Stored: true}.Always(),
		Write: writeUnprotect,
	})
}

func writeUnprotect(c *call.Call) (call.Result, error) {
	word := c.Line.Words[0]
	t, err := grammar.ParseRange(word)
	var found []record.Protected
	for _, p := range c.Context.Protected {
		if err == nil && p.Range == t.Prefix || err != nil && record.MatchID(p.ID, word) {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		words := text.Newf("%v is not protected on %v: `sources` lists what is", refusal.Typed(word), c.Account.Name)
		if own, ok := c.Policy.SourceOf(t.Prefix.Addr()); err == nil && ok {
			words = text.Newf("`%v` is *%v* by the configuration, or by nature: only who runs wafbot can change that",
				t.String(), text.Field(own.Name))
		}
		return call.Result{}, refusal.Nothing(words)
	}
	left := slices.DeleteFunc(slices.Clone(c.Context.Protected), func(p record.Protected) bool { return p.ID == found[0].ID })
	res := saved(found[0], text.New("No longer protected: ", words.Protected(found[0])))
	return saveProtected(c, res, left, grammar.RangeOf(found[0].Range)), nil
}
