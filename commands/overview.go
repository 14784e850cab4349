package commands

import (
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// Overview is what people want to know of an account now. Status, the Home tab and hand-overs are drawn from it, so that none of them shows
// another figure than the others.
type Overview struct {
	Account  string                     `json:"account"`
	Of       *Account                   `json:"-"`
	Health   *HealthNow                 `json:"health,omitempty"`
	Fault    string                     `json:"fault,omitempty"`   // for people: why what burns is unknown
	Storms   []StormRow                 `json:"storms,omitempty"`  // that go on, or whose attacks do
	Ongoing  []AttackRow                `json:"ongoing"`           // incidents first, then what gets through; those that a storm gathered, too
	InForce  []record.Change            `json:"in_force"`          // the newest first, with those that should have ended and have not
	Effects  map[string]record.Efficacy `json:"effects,omitempty"` // what was seen of these, by their ids
	Waiting  []record.ApprovalRequest   `json:"waiting,omitempty"`
	Muted    []record.Mute              `json:"muted,omitempty"`
	Tied     *record.PermissionLoss     `json:"tied,omitempty"`      // the service refuses changes; nil: not as far as is known
	NoMemory bool                       `json:"no_memory,omitempty"` // Redis can't be reached or was emptied: what people did is unknown
	Emptied  bool                       `json:"emptied,omitempty"`   // the latter
}

// seen is what was read for an overview and isn't all in it.
type seen struct {
	attacks []apiclient.Attack
	changes []record.Change
	cases   map[string]record.Triage
}

// maxLinked is how many attacks of an account get a link to their card: no more are ever shown in one message.
const maxLinked = longList

// overviewNeeds are the facts of an overview.
func overviewNeeds() []Fact {
	return []Fact{FactTriages, FactMutes, FactApprovals, FactEfficacy, FactStorms}
}

// picture gathers what is known of an account: what was listed at the service, and what wafbot remembers.
func (c *Call) picture(a *Account, listed answered[apiclient.Attack]) (Overview, seen) {
	o := Overview{Account: a.Name, Of: a, Ongoing: []AttackRow{}, InForce: []record.Change{}}
	s := seen{attacks: listed.found}
	if listed.err != nil {
		text, _ := ForPeople(c.Invocation, forPeople(listed.err))
		o.Fault = text.String()
	}
	for _, attack := range c.burning(a, listed.found) {
		o.Ongoing = append(o.Ongoing, AttackRow{ID: record.AttackID(a.Name, attack.ID), Account: a.Name, Ongoing: true, Attack: attack})
	}
	if h, ok := c.facts(a.Name).Health(); ok {
		o.Health = &h
	}
	if t, err := c.facts(a.Name).PermissionLoss(); err == nil && t.GoesOn() {
		o.Tied = &t
	}
	var err error
	if s.changes, err = c.facts(a.Name).Changes(); err == nil {
		err = c.remembered(a, &o, &s)
	}
	o.NoMemory, o.Emptied = err != nil, errors.Is(err, refusal.ErrEmptied)
	return o, s
}

// remembered adds what people did and said. After an error nothing of it is known: half of it would be taken for all.
func (c *Call) remembered(a *Account, o *Overview, s *seen) (err error) {
	if s.cases, err = c.facts(a.Name).Triages(); err != nil {
		return err
	}
	muted, err := c.mutesNow(a)
	if err != nil {
		return err
	}
	waiting, err := c.waiting(a)
	if err != nil {
		return err
	}
	effects, err := c.facts(a.Name).Efficacy()
	if err != nil {
		return err
	}
	storms, err := c.stormsGoingOn(a)
	if err != nil {
		return err
	}
	o.Muted, o.Waiting = muted, waiting
	for _, ch := range s.changes {
		if (ch.InForce(c.Now) || ch.Overdue(c.Now)) && ch.Amends() == "" && !changeSuperseded(ch, s.changes) {
			o.InForce = append(o.InForce, ch)
			o.seen(ch, effects)
		}
	}
	for _, storm := range storms {
		o.Storms = append(o.Storms, storm.row(a.Name, s.cases[storm.ID]))
	}
	links := c.cardLinks(a, o.linked())
	for i := range o.Storms {
		row := &o.Storms[i]
		row.Card, row.Case.Notes = links[row.ID], nil
	}
	for i := range o.Ongoing {
		row := &o.Ongoing[i]
		row.Case, row.Card = s.cases[row.ID], links[row.ID]
		row.Case.Notes = nil // the attack's own line has them
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

// seen adds what was seen of a change in force.
func (o *Overview) seen(ch record.Change, effects map[string]record.Efficacy) {
	if e, ok := effects[ch.ID]; ok {
		if o.Effects == nil {
			o.Effects = map[string]record.Efficacy{}
		}
		o.Effects[ch.ID] = e
	}
}

// waiting are the requests that a second person can still decide, the oldest first: its time is over first.
func (c *Call) waiting(a *Account) ([]record.ApprovalRequest, error) {
	all, err := c.facts(a.Name).Approvals()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r record.ApprovalRequest) bool { return !r.Waits(c.Now) })
	slices.SortStableFunc(all, func(x, y record.ApprovalRequest) int { return x.Until.Compare(y.Until) })
	return all, nil
}

// cardLinks are where the first cards of those can be opened, where that helps: a terminal opens nothing, and must not wait for Slack.
func (c *Call) cardLinks(a *Account, ids []string) map[string]string {
	if c.Actor.Via == record.ViaCLI || len(ids) == 0 {
		return nil
	}
	return c.facts(a.Name).CardLinks(ids)
}

// burning are the attacks that go on, what gets through first.
func (c *Call) burning(a *Account, listed []apiclient.Attack) []apiclient.Attack {
	ongoing := slices.DeleteFunc(slices.Clone(listed), func(attack apiclient.Attack) bool {
		return !c.ongoing(a, attack) || attack.Result() || attack.FalsePositive()
	})
	slices.SortStableFunc(ongoing, worstFirst)
	return ongoing
}

// urgency orders attacks: incidents first, then what gets through.
func urgency(a apiclient.Attack) int {
	n := map[apiclient.Status]int{apiclient.StatusNotBlocked: 3, apiclient.StatusPartly: 2, apiclient.StatusUnknown: 1}[a.Status()]
	if a.Incident() {
		n += 4
	}
	return n
}

// burningFrom is since when attacks are listed to find those that go on.
func (c *Call) burningFrom(a *Account) time.Time { return c.Now.Add(-max(a.OngoingFor, time.Hour)) }

// modes are the mode switches that have not returned, and rest is what else is in force.
func (o Overview) modes() (switched, rest []record.Change) {
	for _, ch := range o.InForce {
		if ch.Switches() {
			switched = append(switched, ch)
		} else {
			rest = append(rest, ch)
		}
	}
	return switched, rest
}
