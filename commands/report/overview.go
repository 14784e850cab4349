package report

import (
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// Overview is what people want to know of an account now. Status, the Home tab and hand-overs are drawn from it, so that none of them shows
// another figure than the others.
type Overview struct {
	Account        string                     `json:"account"`
	Of             *call.Account              `json:"-"`
	Health         *call.PollHealth           `json:"health,omitempty"`
	Fault          string                     `json:"fault,omitempty"`    // for people: why what goes on is unknown
	Storms         []call.StormRow            `json:"storms,omitempty"`   // that go on, or whose attacks do
	Ongoing        []call.AttackRow           `json:"ongoing"`            // incidents first, then what gets through; those that a storm grouped, too
	InForce        []record.Change            `json:"in_force"`           // the newest first, with those that should have ended and have not
	Efficacy       map[string]record.Efficacy `json:"efficacy,omitempty"` // what was seen of these, by their ids
	Waiting        []record.ApprovalRequest   `json:"waiting,omitempty"`
	Muted          []record.Mute              `json:"muted,omitempty"`
	PermissionLoss *record.PermissionLoss     `json:"permission_loss,omitempty"` // the service refuses changes; nil: not as far as is known
	NoStore        bool                       `json:"no_store,omitempty"`        // Redis can't be reached or was emptied: what people did is unknown
	Emptied        bool                       `json:"emptied,omitempty"`         // the latter
}

// HomeOf is the overviews of all accounts that the call is about. An account whose service hangs still shows what is stored.
func HomeOf(c *call.Call) *Home {
	h := &Home{Accounts: make([]Overview, len(c.InScope)), Who: c.Actor, Role: c.Role, Policy: c.Policy, Trouble: c.Policy.BrokenSources(), Now: c.Now}
	for i, a := range c.InScope {
		attacks, err := c.Facts(a.Name).Attacks(apiclient.AttackFilter{From: OngoingFrom(c, a)})
		h.Accounts[i], _ = overviewOf(c, a, attacks, err)
	}
	return h
}

// seen is what was read for an overview and isn't all in it.
type seen struct {
	attacks []apiclient.Attack
	changes []record.Change
	triages map[string]record.Triage
}

// maxLinked is how many attacks of an account get a link to their card: no more are ever shown in one message.
const maxLinked = call.LongList

// Needs are the facts of an overview.
func Needs() []call.Fact {
	return []call.Fact{call.FactTriages, call.FactMutes, call.FactApprovals, call.FactEfficacy, call.FactStorms}
}

// overviewOf puts together what is known of an account: what was listed at the service, or why not, and what is stored.
func overviewOf(c *call.Call, a *call.Account, listed []apiclient.Attack, unlisted error) (Overview, seen) {
	o := Overview{Account: a.Name, Of: a, Ongoing: []call.AttackRow{}, InForce: []record.Change{}, Efficacy: map[string]record.Efficacy{}}
	s := seen{attacks: listed}
	if unlisted != nil {
		text, _ := call.ForPeople(c.Invocation, refusal.FromService(unlisted))
		o.Fault = text.String()
	}
	for _, attack := range Ongoing(c, a, listed) {
		o.Ongoing = append(o.Ongoing, call.AttackRow{ID: record.AttackID(a.Name, attack.ID), Account: a.Name, Ongoing: true, Attack: attack})
	}
	if h, ok := c.Facts(a.Name).Health(); ok {
		o.Health = &h
	}
	if t, err := c.Facts(a.Name).PermissionLoss(); err == nil && t.GoesOn() {
		o.PermissionLoss = &t
	}
	var err error
	if s.changes, err = c.Facts(a.Name).Changes(); err == nil {
		err = addStored(c, a, &o, &s)
	}
	o.NoStore, o.Emptied = err != nil, errors.Is(err, refusal.ErrEmptied)
	return o, s
}

// addStored adds what people did and said. After an error nothing of it is known: half of it would be taken for all.
func addStored(c *call.Call, a *call.Account, o *Overview, s *seen) (err error) {
	if s.triages, err = c.Facts(a.Name).Triages(); err != nil {
		return err
	}
	muted, err := ActiveMutes(c, a)
	if err != nil {
		return err
	}
	waiting, err := waiting(c, a)
	if err != nil {
		return err
	}
	effects, err := c.Facts(a.Name).Efficacy()
	if err != nil {
		return err
	}
	storms, err := StormsGoingOn(c, a)
	if err != nil {
		return err
	}
	o.Muted, o.Waiting = muted, waiting
	o.InForce = append(o.InForce, efficacy.InPlace(s.changes, c.Now)...)
	for _, ch := range o.InForce {
		if e, ok := effects[ch.ID]; ok {
			o.Efficacy[ch.ID] = e
		}
	}
	for _, storm := range storms {
		o.Storms = append(o.Storms, call.NewStormRow(storm, a.Name, s.triages[storm.ID]))
	}
	links := cardLinks(c, a, o.linked())
	for i := range o.Storms {
		row := &o.Storms[i]
		row.Card, row.Triage.Notes = links[row.ID], nil
	}
	for i := range o.Ongoing {
		row := &o.Ongoing[i]
		row.Triage, row.Card = s.triages[row.ID], links[row.ID]
		row.Triage.Notes = nil // the attack's own line has them
	}
	return nil
}

// linked are the storms and attacks whose cards can be opened from where they are shown.
func (o *Overview) linked() (ids []string) {
	for _, row := range o.Storms {
		ids = append(ids, row.ID)
	}
	for _, row := range o.Ongoing {
		ids = append(ids, row.ID)
	}
	return ids[:min(maxLinked, len(ids))]
}

// waiting are the requests that an approver can still decide, the oldest first: its time is over first.
func waiting(c *call.Call, a *call.Account) ([]record.ApprovalRequest, error) {
	all, err := c.Facts(a.Name).Approvals()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r record.ApprovalRequest) bool { return !r.Waits(c.Now) })
	slices.SortStableFunc(all, func(x, y record.ApprovalRequest) int { return x.Until.Compare(y.Until) })
	return all, nil
}

// cardLinks are where the first cards of those can be opened, where that helps: a terminal opens nothing, and must not wait for Slack.
func cardLinks(c *call.Call, a *call.Account, ids []string) map[string]string {
	if c.Actor.Via == record.ViaCLI || len(ids) == 0 {
		return nil
	}
	return c.Facts(a.Name).CardLinks(ids)
}

// Ongoing are the attacks that go on, what gets through first.
func Ongoing(c *call.Call, a *call.Account, listed []apiclient.Attack) []apiclient.Attack {
	ongoing := slices.DeleteFunc(slices.Clone(listed), func(attack apiclient.Attack) bool {
		return !c.Ongoing(a, attack) || attack.Result() || attack.FalsePositive()
	})
	slices.SortStableFunc(ongoing, describe.WorstFirst)
	return ongoing
}

// OngoingFrom is since when attacks are listed to find those that go on.
func OngoingFrom(c *call.Call, a *call.Account) time.Time {
	return c.Now.Add(-max(a.OngoingFor, time.Hour))
}
