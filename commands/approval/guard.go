package approval

import (
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Need notes what the policy requires approval for. Planning goes on, so that all of it is asked for at once.
func Need(c *call.Call, what string, why text.Text) {
	need := record.ApprovalReason{What: what, Why: why.String()}
	if slices.Contains(c.Policy.Approval.RequiredFor, what) && !slices.Contains(c.Needs, need) {
		c.Needs = append(c.Needs, need)
	}
}

// GuardSource refuses what hits, or contains, a named source or a range that is never denied. It reads all of them:
// a range can contain several, and what may be denied with approval can lie in what is never denied.
func GuardSource(c *call.Call, t grammar.Target) error {
	for _, s := range c.PolicyNow().Guarded() {
		what := policy.HitBy(s, t)
		if what == nil {
			continue
		}
		if s.Deny != config.DenyApproval {
			return refusal.Guarded("%v, which is never denied", what)
		}
		Need(c, config.ApproveSource, what)
	}
	return nil
}

// GuardWidth refuses what is wider than the service takes; what is wider than one person may decide on needs a second
// one.
func GuardWidth(c *call.Call, t grammar.Target) error {
	p := c.Policy
	if t.Kind != apiclient.KindRange {
		Need(c, config.ApproveBroad, text.Newf("`%v` is broad: it hits everybody there, and %v",
			t.String(), policy.NeverVisitors))
		return nil
	}
	for _, r := range t.Ranges() {
		is := text.Newf("`%v` is", t.String())
		if r != t.Prefix {
			is = text.Newf("`%v` stands for `%v`, which is", t.String(), r.String())
		}
		widest, hardest := p.Widest(r)
		if r.Bits() < hardest {
			return refusal.Guarded("%v wider than the service takes (/%v)", is, hardest)
		}
		if r.Bits() < widest {
			Need(c, config.ApproveBroad, text.New(is, " wider than /", widest))
		}
	}
	return nil
}

// GuardDuration refuses what lasts longer than allowed.
func GuardDuration(c *call.Call, d time.Duration) error {
	if d == grammar.Never {
		Need(c, config.ApproveForever, text.New("it would never end"))
		return nil
	}
	if d > c.Policy.LongestDuration {
		return refusal.Guarded("`%v` is longer than the longest allowed, `%v`", grammar.DurationText(d),
			grammar.DurationText(c.Policy.LongestDuration))
	}
	return nil
}

// GuardProtecting refuses what is so wide that hardly anything could be denied any more, and asks about what is merely
// wide.
func GuardProtecting(c *call.Call, targets []grammar.Target) error {
	p := call.Plan{Line: c.Line, Does: "Protect " + words.Targets(targets)}
	for _, t := range targets {
		if !c.Policy.Protectable(t) {
			return refusal.Guarded("`%v` is too wide to be protected: nothing in it could ever be denied again, whatever "+
				"attacks come from there", t.String())
		}
		if c.Policy.Wide(t) {
			p.Warnings.Addf("`%v` is wide: nothing in it can be denied any more, whatever attacks come from there", t.String())
		}
	}
	return RequireConfirmation(c, []call.Plan{p})
}

// RequireRole refuses who has less than that role, and says whom to ask.
func RequireRole(c *call.Call, least record.Role) error {
	if c.Role >= least {
		return nil
	}
	what := c.Cmd.Name
	if line := c.Line.String(); least > c.Cmd.Role && len(line) <= maxToType { // the command alone needs less
		what = text.Sanitize(line, maxToType)
	}
	needs := text.Newf("`%v` needs the role *%v*", what, least.String())
	if c.Could >= least {
		return refusal.Denied("%v, and whether you have it by a user group Slack doesn't say just now. Try again in a "+
			"moment. The operator of wafbot finds the reason in its log", needs)
	}
	needs.Addf("; yours is %v", c.Role.String())
	return &refusal.Refusal{Kind: refusal.ErrDenied, Next: WhomToAsk(c, least), Text: needs}
}

// NoRole refuses who may do nothing. A person of another workspace isn't told who may.
func NoRole(c *call.Call) error {
	refused := &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New("You have no role here")}
	switch c.From {
	case call.Stranger:
		refused.Text = text.New("You have no role here: wafbot answers only members of its own workspace. Ask one of them in this channel")
	case call.Guest:
		refused.Text, refused.Next = text.New("You have no role here: a guest of the workspace can't have one"),
			WhomToAsk(c, c.Cmd.Role)
	default:
		refused.Next = text.Newf("For a role, ask who runs wafbot to write your id `%v` into its configuration, under `policy`",
			text.Field(c.Actor.ID))
		if len(givers(c, c.Cmd.Role)) > 0 {
			refused.Next = text.New(WhomToAsk(c, c.Cmd.Role), ". ", refused.Next)
		}
	}
	return refused
}

// WhomToAsk says who may do what the call asks for, and how to have it done.
func WhomToAsk(c *call.Call, least record.Role) text.Text {
	if c.Actor.Via == record.ViaCLI {
		return text.Newf("At the terminal `policy.terminal` in the configuration file gives roles, as `terminal: {%v: %v}`",
			strings.TrimPrefix(c.Actor.ID, "cli:"), least.String())
	}
	whom, asked := givers(c, least), c.Line
	if c.Role > record.NoRole && c.Account != nil && len(c.RightsOn) > 1 { // it may be typed where another account is meant
		asked = asked.With("account", c.Account.Name)
	}
	switch line := asked.String(); {
	case len(c.InScope) == 0:
		return text.New("Ask a full member of the workspace who has one")
	case slices.ContainsFunc(c.InScope, func(a *config.Account) bool { return policy.Everyone(a.Policy) >= least }):
		return text.New("Ask any full member of the workspace")
	case len(whom) == 0:
		return text.Newf("No user has it yet: see `policy` in the configuration")
	case c.Actor.Via == record.ViaButton:
		return text.Newf("Ask %v to press it", named(whom))
	case len(line) <= maxToType:
		return text.Newf("Ask %v to type `%v`", named(whom), text.Sanitize(line, maxToType))
	}
	return text.Newf("Ask %v to type it", named(whom))
}

// maxToType is the longest line in bytes that a refusal repeats, for another person to type.
const maxToType = 150

// named are people and user groups by name.
func named(ids []string) text.Text {
	return text.Enumerate(ids, len(ids), func(id string) text.Text { return text.New(text.User(id)) })
}

// givers are some of those who have at least that role where the call is about.
func givers(c *call.Call, least record.Role) (ids []string) {
	for _, a := range c.InScope {
		for _, id := range policy.List(a.Policy, least) {
			if !slices.Contains(ids, id) && len(ids) < 3 {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// ByGroup says which user group gives a role; nothing where none does.
func ByGroup(id string) text.Text {
	if id == "" {
		return nil
	}
	return text.New(" by ", text.User(id))
}

// RequireConfirmation refuses a plan with warnings that the person has not seen, so that he is asked.
func RequireConfirmation(c *call.Call, plans []call.Plan) error {
	if c.Anyway || c.Actor.Via == record.ViaClock {
		return nil
	}
	warned := call.Plan{Does: DoesText(plans)}
	for _, p := range toDo(plans) {
		warned.Notes = append(warned.Notes, p.Notes...)
		for _, w := range p.Warnings {
			if !w.Known && (!w.InDialog || !c.Warned) && (w.Always || !c.Yes) {
				warned.Warnings = append(warned.Warnings, w)
			}
		}
	}
	if len(c.Needs) > 0 && warned.Does != "" {
		warned.Notes = append(warned.Notes, Note(c))
	}
	// In a dry run there is nothing to confirm: the answer is what would be sent.
	confirm := c.Ask && warned.Does != "" && c.Policy.ChangesNow() == config.ChangesOn
	if len(warned.Warnings) == 0 && !confirm {
		return nil
	}
	words := text.Lead(warned.Does, "?")
	if len(warned.Warnings) > 0 {
		words.Addf(" Before you do:")
	}
	for _, w := range warned.Warnings {
		words.Addf("\n• %v", w.Text)
	}
	for _, n := range warned.Notes {
		words.Addf("\n%v", n)
	}
	return &refusal.Refusal{Kind: refusal.ErrAsk, Text: words, Warnings: warned.Warnings,
		Line: c.Line.With("account", c.Account.Name)}
}
