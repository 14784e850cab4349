package verb

import (
	"net/netip"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

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
	_, away := c.Facts.Context.Get()
	var all []namedSource
	add := func(s config.Source, by string, p *record.Protected, line text.Text) {
		if !policy.Matches(s, c.Line.Words) {
			return
		}
		deny := config.DenyNever
		if s.Deny == config.DenyApproval {
			deny = config.DenyApproval
		}
		all = append(all, namedSource{s.Name, s.Ranges, deny, s.Cards, by, s.File, s.Broken, p, line})
	}
	for _, s := range c.Policy.Named() {
		add(s, "configuration", nil, policy.Line(s))
	}
	for _, p := range c.Context.Protected {
		add(policy.ProtectedSource(p), "protect", &p, words.Protected(p))
	}
	for _, s := range policy.Builtin() {
		add(s, "wafbot", nil, text.New(policy.Line(s), ", by nature"))
	}
	head := text.Newf("Sources that are never denied, or only with approval, on %v: %v", c.Account.Name, len(all))
	if away != nil {
		head.Add(". What an admin protected is unknown: ", refusal.Store(away))
	}
	return listing(c, head, []string{"RANGES", "NAME", "DENIED"}, all, func(s namedSource) text.Text { return s.line })
}
