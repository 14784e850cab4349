package doctor

import (
	"context"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
)

// mentioned are all users and user groups that the configuration names.
func (c checkup) mentioned() []use {
	p := c.cfg.Policy
	var uses []use
	for _, role := range []struct {
		key string
		ids []string
	}{{"policy.admins", p.Admins}, {"policy.responders", p.Responders}, {"policy.viewers", p.Viewers}} {
		for _, id := range role.ids {
			uses = named(uses, id, role.key)
		}
	}
	for i := range uses {
		uses[i].role = true
	}
	for i, a := range c.cfg.Accounts {
		for j, r := range a.Routes {
			uses = named(uses, r.Mention, config.Element(config.Element("accounts", i)+".routes", j)+".mention")
		}
	}
	uses = named(uses, p.Approval.Approvers, "policy.approval.approvers")
	return named(uses, p.Approval.Override.Notify, "policy.approval.override.notify")
}

func (u use) isGroup() bool { return strings.HasPrefix(u.id, "S") }

// people looks up every user that has a role or is mentioned.
func (c checkup) people(ctx context.Context, e *slackconn.Examiner) []Finding {
	return sideBySide(c.mentioned(), func(u use) []Finding {
		if u.isGroup() {
			return nil
		}
		p, err := e.Person(ctx, u.id)
		if err != nil {
			t := c.slackTrouble(err)
			t.text += ", for " + u.where()
			return []Finding{t.finding("people", u.id)}
		}
		f := Finding{"people", u.subject(p.Name), OK, "for " + u.where(), ""}
		switch {
		case p.Deactivated:
			f.State, f.Text, f.Fix = Wrong, "deactivated, for "+u.where(), "write another user"
		case u.role && p.Outside != "":
			f.State, f.Text, f.Fix = Warn, "a "+p.Outside+": only full members of the workspace may act, for "+u.where(), "write a full member"
		}
		return []Finding{f}
	})
}

// groups looks up every user group that has a role or is mentioned, with one call for all.
func (c checkup) groups(ctx context.Context, e *slackconn.Examiner) []Finding {
	var uses []use
	for _, u := range c.mentioned() {
		if u.isGroup() {
			uses = append(uses, u)
		}
	}
	if len(uses) == 0 {
		return nil
	}
	groups, err := e.Groups(ctx)
	if err != nil {
		f := c.slackTrouble(err).finding("people", "user groups")
		if slices.ContainsFunc(uses, func(u use) bool { return u.role }) {
			f.Text += "; users who have a role only through a group can change nothing"
		}
		return []Finding{f}
	}
	var found []Finding
	for _, u := range uses {
		g, known := groups[u.id]
		f := Finding{"people", u.subject("@" + g.Handle), OK, "for " + u.where(), ""}
		switch {
		case !known:
			f.Subject, f.State, f.Text, f.Fix = u.id, Wrong, "no user group with this id, for "+u.where(), "check the id: the group's menu in Slack copies it"
		case g.Disabled:
			f.State, f.Text, f.Fix = Wrong, "disabled: it mentions no one and gives no role, for "+u.where(), "enable it in Slack, or write another group"
		case u.role && g.Members == 0:
			f.State, f.Text, f.Fix = Warn, "it has no members, for "+u.where(), "add people to it in Slack, or write another group"
		}
		found = append(found, f)
	}
	return found
}
