package poller

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
)

// maxListed is how many attacks of each kind the event of a gap lists.
const maxListed = 20

// closeGap has the good poll that ends a monitoring gap notify of it. Attacks that are over and would get their first
// card now are listed there instead; a snapshot of a part leaves them to the one of all.
func (d *decision) closeGap() {
	if d.good && !d.st.outage.From.IsZero() {
		d.Outage, d.Stale = &record.Outage{}, append(d.Stale, d.st.ongoing()...)
	}
	if !d.gap() {
		return
	}
	over := d.takeOver()
	if !d.good {
		return
	}
	facts := record.GapFacts{From: d.st.lastGood, To: d.at, Why: d.outageCauses()}
	d.Gap = &record.Outage{From: facts.From, Until: facts.To, Why: facts.Why}
	facts.Over, facts.OverCount = oldest(over), len(over)
	began, grouped := d.beganSince(d.st.lastGood.Truncate(time.Second)) // the service counts whole seconds
	facts.Began, facts.BeganCount, facts.Grouped = oldest(began), len(began), grouped
	d.Events = append(d.Events, d.cfg.accountEvent(record.MonitoringGap, d.st.lastGood.UnixMilli(), d.at, facts))
}

// takeOver takes the events of the attacks out that the event of a gap lists, and returns these. Their states are saved
// with that event.
func (d *decision) takeOver() (over []apiclient.Attack) {
	d.Events = slices.DeleteFunc(d.Events, func(n record.Event) bool {
		if !d.listedByGap(n) {
			return false
		}
		id, attack := n.Subject, d.Attacks[n.Subject].Attack
		over = append(over, attack)
		if delete(d.Attacks, id); !d.good {
			d.judgeAgain(id)
			return true
		}
		listed := d.st.attacks.of(id)
		listed.Attack, listed.ObservedAt, listed.Baseline = attack, n.At,
			compare.Raised(listed.Baseline, attack, record.NewAttack)
		d.Attacks[id] = listed
		return true
	})
	return over
}

// listedByGap reports whether the event of a gap lists an attack in place of a card: it is over, and never had an
// event.
func (d *decision) listedByGap(n record.Event) bool {
	s := d.Attacks[n.Subject]
	return n.Kind == record.NewAttack && s.Quiet && s.Storm == nil && !s.OwnCard && d.gap()
}

// outageCauses are the causes of the outage that ends, in words for people.
func (d *decision) outageCauses() string {
	causes := slices.DeleteFunc(slices.Clone(d.causes), func(why string) bool { return why == d.st.outage.Why })
	if d.st.outage.Why != "" {
		causes = slices.Insert(causes, 0, d.st.outage.Why)
	}
	return strings.Join(causes, "; then ")
}

// beganSince are the attacks that began then and have a card, and those that got their first one by this poll, whenever
// the service says that they began; and how many attacks of these show only in a storm's card.
func (d *decision) beganSince(from time.Time) (began []apiclient.Attack, grouped int) {
	for s := range d.states() {
		now := s.FoundAt.Equal(d.at)
		switch {
		case !s.Notified || s.Storm != nil || !now && s.Attack.First.Before(from):
		case s.Grouped():
			grouped++
		default:
			began = append(began, s.Attack)
		}
	}
	return began, grouped
}

// oldest are the first attacks that began: as many as the event of a gap lists.
func oldest(all []apiclient.Attack) (ids []string) {
	slices.SortFunc(all, func(a, b apiclient.Attack) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.ID, b.ID))
	})
	for _, a := range all[:min(maxListed, len(all))] {
		ids = append(ids, a.ID)
	}
	return ids
}

const (
	// outageAfter is for how many intervals polls fail before that is an event.
	outageAfter = 4
	// outageFailures and leastOutage are how many polls fail in a row at least, and for how long, before that is an event:
	// a single refusal or error may be one broken instance of the service, also where polls are frequent.
	outageFailures, leastOutage = 3, 10 * time.Second
	// leastGap is how far back the last good poll lies at least after a monitoring gap. A shorter gap can't be
	// distinguished from time that was not saved yet, and from a replica taking over.
	leastGap = 2 * time.Minute
)

// inWords says for people why the service can't be read.
func inWords(err error) string {
	switch apiclient.KindOf(err) {
	case apiclient.Unauthenticated:
		return "the service refuses the token"
	case apiclient.Forbidden:
		return "the token lacks the permission to read"
	case apiclient.RateLimited:
		return "the service says there are too many requests"
	case apiclient.Server:
		return "the service answers with errors"
	case apiclient.Network:
		return "the service can't be reached"
	case apiclient.Foreign:
		return "the service answers with records of other clients"
	case apiclient.NotFound, apiclient.Invalid:
		return "the service refuses the request: is the account's address or client id wrong?"
	}
	return "the service can't be read"
}

// fix says for people what can be done about an account that can't be polled.
func fix(kind apiclient.ErrorKind) string {
	switch kind {
	case apiclient.Unauthenticated:
		return "who manages the service's tokens makes a new one; written into the account's token_file, it is read by itself"
	case apiclient.Forbidden:
		return "an admin of the service gives the token's user a role that may read attacks"
	case apiclient.NotFound, apiclient.Invalid:
		return "wafbot doctor says more"
	}
	return ""
}
