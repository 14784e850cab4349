package main

import (
	"context"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/bot/slackconn"
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
			uses = named(uses, r.Mention, element(element("accounts", i)+".routes", j)+".mention")
		}
	}
	uses = named(uses, p.Approvers, "policy.approvers")
	return named(uses, p.Alone.Tell, "policy.alone.tell")
}

func (u use) isGroup() bool { return strings.HasPrefix(u.id, "S") }

// people looks every user up that has a role or is mentioned.
func (c checkup) people(ctx context.Context, e *slackconn.Examiner) []finding {
	return sideBySide(c.mentioned(), func(u use) []finding {
		if u.isGroup() {
			return nil
		}
		p, err := e.Person(ctx, u.id)
		if err != nil {
			t := c.slackTrouble(err)
			t.text += ", for " + u.where()
			return []finding{t.finding("people", u.id)}
		}
		f := finding{"people", u.subject(p.Name), good, "for " + u.where(), ""}
		switch {
		case p.Deactivated:
			f.State, f.Text, f.Mend = wrong, "deactivated, for "+u.where(), "write somebody else"
		case u.role && p.Outside != "":
			f.State, f.Text, f.Mend = warn, "a "+p.Outside+": only full members of the workspace may act, for "+u.where(), "write a full member"
		}
		return []finding{f}
	})
}

// groups looks every user group up that has a role or is mentioned, with one call for all.
func (c checkup) groups(ctx context.Context, e *slackconn.Examiner) []finding {
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
			f.Text += "; who has a role only by one may change nothing"
		}
		return []finding{f}
	}
	var found []finding
	for _, u := range uses {
		g, known := groups[u.id]
		f := finding{"people", u.subject("@" + g.Handle), good, "for " + u.where(), ""}
		switch {
		case !known:
			f.Subject, f.State, f.Text, f.Mend = u.id, wrong, "no user group with this id, for "+u.where(), "check the id: the group's menu in Slack copies it"
		case g.Disabled:
			f.State, f.Text, f.Mend = wrong, "disabled, so that it calls nobody and gives nobody a role, for "+u.where(), "enable it in Slack, or write another group"
		case u.role && g.Members == 0:
			f.State, f.Text, f.Mend = warn, "nobody is in it, for "+u.where(), "add people to it in Slack, or write another group"
		}
		found = append(found, f)
	}
	return found
}
