package commands

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

func status() *Command {
	return &Command{
		Name: "status", Role: Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "what burns now, and what is in force",
		Args:    []Arg{argPage},
		Read:    readStatus,
	}
}

// accountStatus is an account's state for programs.
type accountStatus struct {
	Account  string      `json:"account"`
	Health   *HealthNow  `json:"health,omitempty"`
	Fault    string      `json:"fault,omitempty"`
	Ongoing  []attackRow `json:"ongoing"`
	InForce  []Change    `json:"in_force"`
	Muted    []Mute      `json:"muted,omitempty"`
	Tied     *Tied       `json:"tied,omitempty"`      // the service refuses changes; nil: not as far as is known
	NoMemory bool        `json:"no_memory,omitempty"` // Redis can't be reached or was emptied: in_force is unknown
}

func readStatus(ctx context.Context, c *Call) (Result, error) {
	res := Result{Account: c.onlyAccount()}
	var data []accountStatus
	pages := c.pages(3 * len(c.All)) // what burns, who is on it, and what is in force
	burning := sideBySide(ctx, c.All, func(ctx context.Context, a *Account) ([]apiclient.Attack, error) {
		return c.listAttacks(ctx, a, apiclient.AttackFilter{From: c.Now.Add(-max(a.OngoingFor, time.Hour))})
	})
	for i, a := range c.All {
		lines, st := c.accountStatus(ctx, pages, a, burning[i])
		res.Lines = append(res.Lines, lines...)
		data = append(data, st)
	}
	res.Lines = append(res.Lines, c.cfg.Policy.brokenSources()...)
	res.Lines = append(res.Lines, Say("wafbot is ", c.cfg.Policy.Describe()))
	res.Data = data
	return pages.finish(res)
}

func (c *Call) accountStatus(ctx context.Context, pages *pager, a *Account, listed answered[apiclient.Attack]) ([]Text, accountStatus) {
	st := accountStatus{Account: a.Name, Ongoing: []attackRow{}, InForce: []Change{}}
	lines := c.burning(pages, a, listed, &st)
	lines = append(lines, c.deskLines(ctx, pages, a, &st)...)
	if c.cfg.Health != nil {
		if h, ok := c.cfg.Health(a.Name); ok {
			st.Health = &h
			if h.Failing != "" {
				lines = append(lines, Say(Bold("Blind: "), h.Failing, "; last good look ", ago(h.LastGood, c.Now)))
			}
		}
	}
	if t, err := c.cfg.Ties.Tied(ctx, a.Name); err == nil && t.GoesOn() {
		st.Tied = &t
		lines = append(lines, Say(Bold("Hands tied: "), "the service doesn't let wafbot ", t.Cannot(), ", since ", t.Since))
	}
	changes, err := c.cfg.Ledger.Changes(ctx, a.Name)
	if err != nil {
		st.NoMemory = true
		why := "can't be reached, and until it can nothing is changed"
		if errors.Is(err, ErrEmptied) {
			why = "is empty, and until it is read back from Slack nothing is changed"
		}
		return append(lines, Say("What is in force is unknown: wafbot's memory (Redis) ", why)), st
	}
	for _, ch := range changes {
		if ch.InForce(c.Now) && ch.Amends() == "" && !ch.superseded(changes) {
			st.InForce = append(st.InForce, ch)
		}
	}
	if len(st.InForce) == 0 {
		return append(lines, Say("Nothing of wafbot's is in force")), st
	}
	lines = append(lines, Say("In force by wafbot: ", len(st.InForce)))
	return append(lines, pages.part(len(st.InForce), func(i int) Text { return changeRow(st.InForce[i]) })...), st
}

// burning lists what is going on now, what gets through first.
func (c *Call) burning(pages *pager, a *Account, listed answered[apiclient.Attack], st *accountStatus) []Text {
	if listed.err != nil {
		text, _ := ForPeople(c.Invocation, forPeople(listed.err))
		st.Fault = text.String()
		return []Text{Say(Bold(a.Name), ": what burns is unknown: ", text)}
	}
	ongoing := slices.DeleteFunc(listed.found, func(attack apiclient.Attack) bool {
		return !c.ongoing(a, attack) || attack.Result() || attack.FalsePositive()
	})
	slices.SortStableFunc(ongoing, func(x, y apiclient.Attack) int {
		return cmp.Or(urgency(y)-urgency(x), cmp.Compare(y.Hits.N, x.Hits.N))
	})
	for _, attack := range ongoing {
		st.Ongoing = append(st.Ongoing, attackRow{ID: AttackID(a.Name, attack.ID), Account: a.Name, Ongoing: true, Attack: attack})
	}
	if len(ongoing) == 0 {
		return []Text{Say(Bold(a.Name), ": no attack is going on (no hit in the last ", HumanDuration(a.OngoingFor), ")")}
	}
	return append([]Text{Say(Bold(a.Name), ": ", len(ongoing), " going on")}, c.attackLines(pages, a, ongoing)...)
}

// urgency orders attacks: incidents first, then what gets through.
func urgency(a apiclient.Attack) int {
	n := map[apiclient.Status]int{apiclient.StatusNotBlocked: 3, apiclient.StatusPartly: 2, apiclient.StatusUnknown: 1}[a.Status()]
	if a.Incident() {
		n += 4
	}
	return n
}
