package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// authorise checks the person who asks, on every path, against the roles that the person has now. An account on which
// the person may not even read doesn't exist for the person: from here on the call holds the others alone.
func authorise(ctx context.Context, c *job) error {
	could := c.see(c.Accounts, c.rights(ctx, c.Actor, c.Accounts))
	addressed := c.Account
	if addressed == nil && c.named() == "" && len(c.Accounts) == 1 {
		addressed = c.Accounts[0]
	}
	if slices.Contains(c.Accounts, addressed) { // what was meant for one that doesn't exist must not hit another
		c.On(addressed)
		return requireRights(c)
	}
	c.Account, c.InScope, c.Could = nil, c.Accounts, could
	switch {
	case len(c.Accounts) == 0:
		c.Account = addressed                                      // whose log has the refusal
		if here := c.accounts[c.Invocation.Account]; here != nil { // who may act is no secret in the account's own channel
			c.InScope = []*config.Account{here}
		}
	case c.named() != "":
		return refuseHidden(ctx, c, addressed)
	}
	return requireRights(c)
}

// May refuses who may not run a line, for what is shown of an account without one. Nothing is run.
func (r *Runner) May(ctx context.Context, inv call.Invocation) error {
	c, err := r.lookUp(inv)
	if err != nil {
		return err
	}
	return c.recordRefusal(ctx, authorise(ctx, c))
}

// Refuses reports whether a line is surely refused for who asks it, on any account. Where Slack doesn't say who that
// is, it isn't sure.
func (r *Runner) Refuses(ctx context.Context, inv call.Invocation) bool {
	c, err := r.lookUp(inv)
	if err != nil {
		return false
	}
	could := c.see(r.Accounts, r.rights(ctx, c.Actor, r.Accounts))
	return !c.Unsure && could == record.NoRole &&
		!slices.ContainsFunc(c.Accounts, func(a *config.Account) bool { return c.RightsOn[a.Name].Role >= c.Cmd.Role })
}

// Permitted reports of each line whether a person may fill in its form and run it, on the account that the lines are
// about, and says what is left out and whom to ask; nil: nothing is. Nothing is run or recorded.
func (r *Runner) Permitted(ctx context.Context, inv call.Invocation, account string, lines []record.Line) (may []bool,
	left text.Text) {
	c := &call.Call{Invocation: inv, RightsOn: r.rights(ctx, inv.Actor, []*config.Account{r.accounts[account]})}
	c.On(r.accounts[account])
	missing := record.Admin
	for _, l := range lines {
		cmd, _ := r.command(&l)
		least := formRole(cmd)
		if may = append(may, c.Role >= least); c.Role < least {
			missing = min(missing, least)
		}
	}
	switch {
	case !slices.Contains(may, false):
	case c.Unsure || c.Could >= missing:
		left = text.New("Slack doesn't say just now whether you may do more. Try again in a moment")
	default:
		left = text.Newf("You are *%v*. What needs more is left out. %v",
			c.Role.String(), approval.WhomToAsk(c, missing))
	}
	return may, left
}

// formRole is the least role that gets a command's form. A form never only shows, as the line may.
func formRole(cmd *call.Command) record.Role {
	if cmd.Plan != nil {
		return max(cmd.Role, record.Responder)
	}
	return cmd.Role
}

// see takes what the person may do on each account. It returns the highest role that user groups may give on any.
func (c *job) see(accounts []*config.Account, rights map[string]call.Rights) (could record.Role) {
	c.RightsOn, c.Accounts = rights, nil
	for _, a := range accounts {
		s := rights[a.Name]
		if max(s.Role, s.Was) > record.NoRole {
			c.Accounts = append(c.Accounts, a)
		}
		if !c.changes {
			s.Role = max(s.Role, s.Was)
			rights[a.Name] = s
		}
		if s.Role >= c.Role {
			c.Rights = s
		}
		c.Actor, could = s.Who, max(could, s.Could)
	}
	return could
}

// refuseHidden refuses a line that names an account which isn't there, or doesn't exist for the person, in the same
// words. The latter's audit log says who tried.
func refuseHidden(ctx context.Context, c *job, hidden *config.Account) error {
	var names []string
	for _, a := range c.Accounts {
		names = append(names, a.Name)
	}
	said := &refusal.Refusal{Kind: refusal.ErrUsage, Cause: refusal.ErrRecorded,
		Text: text.Newf("Unknown account: %v%v. One of: %v",
			refusal.Typed(c.named()), grammar.Hint(c.named(), names), call.AccountNames(c.Accounts))}
	if c.Could > record.NoRole {
		said.Kind, said.Text = refusal.ErrDenied, text.Newf("Slack doesn't say just now whether a user group lets you see an account %v. Try again in a moment",
			refusal.Typed(c.named()))
	}
	if c.Account = hidden; hidden != nil {
		_ = c.recordRefusal(ctx, refusal.Denied("no role on this account"))
	}
	return said
}

// requireRights refuses who has too low a role for the command, or isn't known well enough.
func requireRights(c *job) error {
	switch {
	case c.Unsure && (c.changes || c.Role == record.NoRole):
		return refusal.Denied("Slack doesn't say who you are just now. Until it does nothing is changed, and nothing is shown but to those whom the configuration names. Try again in a moment")
	case c.Role == record.NoRole && c.Could == record.NoRole:
		return approval.NoRole(c.Call)
	}
	return approval.RequireRole(c.Call, c.Cmd.Role)
}

// maxName is how many characters of a person's name are kept: Slack's have 80.
const maxName = 100

// rights looks up what an actor may do on accounts, by their names. Slack is asked once for all of them.
func (x *executor) rights(ctx context.Context, who record.Actor, on []*config.Account) map[string]call.Rights {
	var name, workspace string
	var full bool
	var err error
	from := call.Outside("")
	switch who.Via {
	case record.ViaClock, record.ViaPager, record.ViaCLI:
	default:
		name, workspace, full, err = x.Members.Member(ctx, who.Team, who.ID)
		switch {
		case full || err != nil: // the Slack client logs it once a minute
		case workspace == "":
			from = call.Stranger
		default:
			from = call.Guest
		}
	}
	who.Name, who.Team = text.Cut(cmp.Or(name, who.Name), maxName), cmp.Or(workspace, who.Team)
	all := make(map[string]call.Rights, len(on))
	for _, a := range on {
		s := call.Rights{Who: who, From: from, Unsure: err != nil}
		switch {
		case who.Via == record.ViaClock:
			s.Role = record.Admin
		case who.Via == record.ViaPager: // its secret vouches for it, and it can acknowledge alone: see bot.ingress.acknowledged
			s.Role = record.Responder
		case who.Via == record.ViaCLI:
			s.Role, _ = policy.TerminalUser(a.Policy, who)
		case full:
			s.Role = policy.RoleOf(a.Policy, who.ID)
		case workspace != "" && err != nil: // an id of the workspace that the operator has named
			s.Role, _ = policy.Named(a.Policy, who.ID)
		}
		all[a.Name] = s
	}
	if full {
		x.addGroupRoles(ctx, who.ID, on, all)
	}
	for name, s := range all {
		if s.Unsure {
			s.Role, s.Was = min(s.Role, record.Viewer), min(s.Was, record.Viewer)
			all[name] = s
		}
	}
	return all
}

// addGroupRoles raises roles by user groups. They are looked up only where one of them gives more.
func (x *executor) addGroupRoles(ctx context.Context, user string, on []*config.Account, all map[string]call.Rights) {
	var ask []string
	could := map[string]record.Role{}
	for _, a := range on {
		groups := policy.Groups(a.Policy)
		if could[a.Name], _ = policy.Named(a.Policy, groups...); could[a.Name] > all[a.Name].Role {
			ask = append(ask, groups...)
		}
	}
	if len(ask) == 0 {
		return
	}
	slices.Sort(ask)
	in, err := x.Members.Groups(ctx, user, slices.Compact(ask)) // the Slack client logs its error once
	for _, a := range on {
		s := all[a.Name]
		switch role, group := policy.Named(a.Policy, in...); {
		case could[a.Name] <= s.Role:
		case err != nil:
			s.Was, s.Could = role, could[a.Name]
		case role > s.Role:
			s.Role, s.Group = role, group
		}
		all[a.Name] = s
	}
}

// noteRefused stores that the service refuses the change because of wafbot's token, so that people are notified of what
// is not done. Further refusals belong to the same permission loss.
func noteRefused(ctx context.Context, c *job, fault error, what record.RefusedChange) {
	if !change.PermissionRefused(fault) || c.Policy.ChangesNow() != config.ChangesOn {
		return
	}
	e, _ := errors.AsType[*apiclient.Error](fault)
	savePermissionLoss(ctx, c, func(t *record.PermissionLoss) (changed bool) {
		if !t.GoesOn() {
			*t = record.PermissionLoss{Account: c.Account.Name, Since: c.Now}
		}
		lacks := change.NeededPermissions(what.Steps)
		if e.Kind == apiclient.Unauthenticated || len(lacks) == 0 {
			lacks = []record.Permission{record.PermissionAll}
		}
		lacks = slices.DeleteFunc(lacks, t.LacksPermission)
		i := slices.IndexFunc(t.Refused, func(was record.RefusedChange) bool { return was.Line.String() == what.Line.String() })
		switch {
		case i >= 0 && what.By.Via == record.ViaClock && len(lacks) == 0:
			return false // it is tried each minute
		case i >= 0:
			t.Refused = slices.Replace(slices.Clone(t.Refused), i, i+1, what)
		case len(t.Refused) < change.MaxRefused:
			t.Refused = append(slices.Clip(t.Refused), what)
		default:
			t.More++
		}
		t.Lacks, t.Status = append(slices.Clip(t.Lacks), lacks...), e.Status
		return true
	})
}

// noteGranted ends the permission loss, or a part of it, when the service has taken a change.
func noteGranted(ctx context.Context, c *job, ch record.Change) {
	if len(ch.Steps) == 0 {
		return
	}
	granted := append(change.NeededPermissions(ch.Steps), record.PermissionAll)
	savePermissionLoss(ctx, c, func(t *record.PermissionLoss) (changed bool) {
		left := slices.DeleteFunc(slices.Clone(t.Lacks),
			func(p record.Permission) bool { return slices.Contains(granted, p) })
		if !t.GoesOn() || len(left) == len(t.Lacks) {
			return false
		}
		t.Lacks = left
		t.Refused = slices.DeleteFunc(slices.Clone(t.Refused),
			func(was record.RefusedChange) bool { return call.Effect(was.Line) == ch.Effect })
		if len(left) == 0 {
			t.Until = c.serviceNow()
		}
		return true
	})
}

// savePermissionLoss stores the account's permission loss if it changed. It outlives the request: people must be
// notified.
func savePermissionLoss(ctx context.Context, c *job, becomes func(t *record.PermissionLoss) (changed bool)) {
	c.store(ctx, "write down a permission loss", "", func(ctx context.Context) error {
		t := c.basis.Loss
		if !becomes(&t) {
			return nil
		}
		t.Revision++
		event := c.event(fmt.Sprintf("%s-%d", t.ID(), t.Revision), record.PermissionLost, t.Since,
			record.PermissionChanged{Since: t.Since})
		event.Order = t.Revision
		if _, err := c.draft.Save(ctx, record.Saves{Loss: &t, Events: []record.Event{event}}); err != nil {
			return err
		}
		c.basis.Loss = t
		c.Notifier.Notify(t.Account, []record.Event{event})
		return nil
	})
}

// noteUnplanned is noteRefused for a change that could not even be planned, because the service lets wafbot read
// nothing: what it would have sent is what there is to do if nothing stands there yet.
func noteUnplanned(ctx context.Context, c *job, fault error) {
	if !change.PermissionRefused(fault) {
		return
	}
	if c.Cmd.Name == "undo" {
		if ch, err := change.ByLine(c.Call); err == nil {
			noteRefused(ctx, c, fault, change.RefusedUndo(c.Call, ch.ID))
		}
		return
	}
	empty := *c.Call
	empty.Facts = &call.Facts{}
	call.Ask(&empty.Facts.Entries.Fact, true)
	call.Ask(&empty.Facts.Rules.Fact, true)
	plans, err := c.Cmd.Plan(&empty)
	if err != nil || len(plans) == 0 {
		plans = []call.Plan{{Line: c.Line, Does: c.Line.String()}}
	}
	for _, p := range plans {
		noteRefused(ctx, c, fault, c.newChange("", p).Refused())
	}
}

// noteRulesLocked stores whether the service has locked its rules, as what became of a change shows.
func noteRulesLocked(ctx context.Context, c *job, ch record.Change, fault error) {
	var at time.Time
	switch {
	case apiclient.KindOf(fault) == apiclient.Locked:
		at = c.serviceNow()
	case fault != nil || !change.OfRules(ch.Steps) || c.Context.RulesLockedAt.IsZero():
		return
	}
	c.store(ctx, "write down whether rules are locked", "", func(ctx context.Context) error {
		_, err := c.draft.Save(ctx, record.Saves{Locked: &at})
		return err
	})
}
