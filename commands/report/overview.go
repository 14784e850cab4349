package report

import (
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Overview is what people want to know of an account now. Status, the Home tab and hand-overs are drawn from it, so
// that none of them shows another figure than the others.
type Overview struct {
	Account        string                        `json:"account"`
	Of             *config.Account               `json:"-"`
	Policy         policy.Policy                 `json:"-"`
	Now            time.Time                     `json:"now"` // by the clock of the account's service
	Role           record.Role                   `json:"-"`   // of the reader: what it doesn't allow has no button
	Health         *record.PollHealth            `json:"health,omitempty"`
	Fault          string                        `json:"fault,omitempty"`     // for people: why what goes on is unknown
	Storms         []call.StormRow               `json:"storms,omitempty"`    // that go on, or whose attacks do
	Ongoing        []call.AttackRow              `json:"ongoing"`             // incidents first, then what gets through, then what is stopped; without those for which a storm stands
	InForce        []record.Change               `json:"in_force"`            // the newest first, with those that should have ended and have not
	Unsettled      []record.Change               `json:"unsettled,omitempty"` // whose outcome isn't known yet
	Efficacy       map[string]record.Efficacy    `json:"efficacy,omitempty"`  // what was seen of these, by their ids
	States         map[string]record.AttackState `json:"-"`                   // of Ongoing, by their ids
	Waiting        []record.ApprovalRequest      `json:"waiting,omitempty"`
	Muted          []record.Mute                 `json:"muted,omitempty"`
	PermissionLoss *record.PermissionLoss        `json:"permission_loss,omitempty"` // the service refuses changes; nil: not as far as is known
	NoStore        bool                          `json:"no_store,omitempty"`        // what people did is unknown
	Store          string                        `json:"store,omitempty"`           // why, as refusal.Redis says it
	Damaged        []string                      `json:"damaged,omitempty"`         // what can't be read in Redis, and is set aside

	ids []string // of the storms, of what goes on, and of what changes in force were made for
}

// HomeOf is the overviews of all accounts that the call is about. An account whose service hangs still shows what is
// stored.
func HomeOf(c *call.Call) *Home {
	h := &Home{Accounts: make([]Overview, len(c.InScope)), Who: c.Actor, Now: c.Now}
	for i, a := range c.InScope {
		for _, line := range c.PolicyOf(a).BrokenSources() {
			if !slices.ContainsFunc(h.Trouble, func(t text.Text) bool { return t.String() == line.String() }) { // a source of all accounts
				h.Trouble = append(h.Trouble, line)
			}
		}
		h.Accounts[i] = overviewOf(c.For(a))
		if now := h.Accounts[i].Health; i == 0 && now != nil && now.Link != "" {
			h.Trouble = append(h.Trouble, text.Lead("Slack's deliveries: ", now.Link))
		}
	}
	h.Trend = trendPart(c)
	return h
}

// maxLinked is how many attacks of an account get a link to their card: no more are ever shown in one message.
const maxLinked = call.LongList

// HomeNeeds are those of HomeOf.
func HomeNeeds() call.Rounds { return call.Rounds{overviewNeeds, shownNeeds} }

// overviewNeeds are the facts that an overview counts.
func overviewNeeds(c *call.Call) call.Needs {
	return call.Needs{
		Attacks:    apiclient.AttackFilter{From: OngoingFrom(c)},
		AttackDays: call.AttackDays{Hours: hoursOf(c.Now, trendDays), Brief: true},
		Changes:    true, Efficacy: true, Approvals: true, Triages: true, Mutes: true, Context: true, Storms: true,
		InStorms:       true,
		PermissionLoss: true, Health: true,
	}
}

// shownNeeds are the facts about ongoing attacks that an overview shows.
func shownNeeds(c *call.Call) (n call.Needs) {
	if o := overviewOf(c); !o.NoStore {
		n.States = o.ids[len(o.Storms):]
		if c.Actor.Via != record.ViaCLI { // a terminal opens nothing, and must not wait for Slack
			n.CardLinks = o.ids[:min(maxLinked, len(o.ids))]
		}
	}
	return n
}

// known is the value of a fact. If it couldn't be read, the error is added to away.
func known[T any](away *error, fact interface{ Get() (T, error) }) T {
	value, err := fact.Get()
	*away = errors.Join(*away, err)
	return value
}

// overviewOf puts together what is known of the call's account: what was listed at the service, or why not, and what is
// stored. After an error of the store nothing stored is in it: half of it would be taken for all.
func overviewOf(c *call.Call) Overview {
	o := Overview{Account: c.Account.Name, Of: c.Account, Policy: c.Policy, Now: c.Now, Role: c.Role,
		Ongoing: []call.AttackRow{}, InForce: []record.Change{}, Efficacy: map[string]record.Efficacy{}}
	facts := c.Facts
	listed, unlisted := facts.Attacks.Get()
	if unlisted != nil {
		words, _ := call.ForPeople(c.Invocation, refusal.FromService(unlisted))
		o.Fault = words.String()
	}
	if h := facts.Health.Value; h.Ok {
		o.Health = &h.Value
	}
	if t, err := facts.PermissionLoss.Get(); err == nil && t.GoesOn() {
		o.PermissionLoss = &t
	}
	var away error
	changes, triages, waiting := known(&away, facts.Changes), known(&away, facts.Triages), known(&away, facts.Approvals)
	seen := known(&away, facts.Efficacy)
	o.Damaged = known(&away, facts.Context).Damaged
	muted, noMutes := ActiveMutes(c)
	storms, noStorms := StormsGoingOn(c)
	ongoing, noGroups := Ungrouped(c, Ongoing(c, listed))
	if away = errors.Join(away, noMutes, noStorms, noGroups); away != nil {
		o.NoStore, o.Store, storms, triages = true, refusal.Redis(away), nil, nil
	} else {
		o.Muted = muted
		o.InForce = append(o.InForce, efficacy.InPlace(changes, c.Now)...)
		o.Unsettled = slices.DeleteFunc(changes, func(ch record.Change) bool { return ch.State != record.StateBegun })
		o.Waiting = slices.DeleteFunc(waiting, func(r record.ApprovalRequest) bool { return !r.Waits(c.Now) })
	}
	for _, ch := range o.InForce {
		if e, ok := seen[ch.ID]; ok {
			o.Efficacy[ch.ID] = e
		}
	}
	slices.SortStableFunc(o.Waiting, func(x, y record.ApprovalRequest) int { return x.Until.Compare(y.Until) }) // whose time is over first
	o.addRows(c, storms, ongoing, triages)
	return o
}

// addRows adds the storms and attacks that go on, with their triage and the links to their cards where these are
// stored. An attack goes on, too, whose card says so though no hit is seen getting through: a change in force that was
// made for it stops its tries.
func (o *Overview) addRows(c *call.Call, storms []record.StormSeen, ongoing []apiclient.Attack,
	triages map[string]record.Triage) {
	for _, storm := range storms {
		o.ids = append(o.ids, storm.ID)
	}
	for _, attack := range ongoing {
		o.ids = append(o.ids, record.AttackID(o.Account, attack.ID))
	}
	links := c.Facts.CardLinks.Value
	o.States = c.Facts.States.Value // without these a row has what the service says
	for _, ch := range o.InForce {
		if ch.AttackID == "" || slices.Contains(o.ids, ch.AttackID) {
			continue
		}
		o.ids = append(o.ids, ch.AttackID)
		if s := o.States[ch.AttackID]; s.GoesOn() && s.Storm == nil && !s.Grouped() && !s.Rebuilt &&
			!s.Attack.FalsePositive() {
			ongoing = append(ongoing, s.Attack)
		}
	}
	triage := func(id string) record.Triage {
		k := triages[id]
		k.Notes = nil // the attack's own line has them
		return k
	}
	for _, storm := range storms {
		row := c.StormRow(storm, triage(storm.ID))
		row.Card = links[storm.ID]
		o.Storms = append(o.Storms, row)
	}
	for _, attack := range ongoing {
		id := record.AttackID(o.Account, attack.ID)
		row := c.AttackRow(attack, triage(id))
		row.Ongoing, row.Card = true, links[id]
		o.Ongoing = append(o.Ongoing, row)
	}
}

// ActiveMutes are the mutes of the call's account that are not over.
func ActiveMutes(c *call.Call) ([]record.Mute, error) {
	all, err := c.Facts.Mutes.Get()
	if err != nil {
		return nil, refusal.Away(err)
	}
	return slices.DeleteFunc(all, func(m record.Mute) bool { return m.Over(c.Now) }), nil
}

// Ongoing are the attacks that go on, what gets through first.
func Ongoing(c *call.Call, listed []apiclient.Attack) []apiclient.Attack {
	ongoing := slices.DeleteFunc(slices.Clone(listed), func(attack apiclient.Attack) bool {
		return !c.Ongoing(attack) || attack.Result() || attack.FalsePositive()
	})
	slices.SortStableFunc(ongoing, words.WorstFirst)
	return ongoing
}

// OngoingFrom is since when attacks of the call's account are listed to find those that go on.
func OngoingFrom(c *call.Call) time.Time {
	return c.Now.Add(-max(c.Account.OngoingFor, time.Hour))
}
