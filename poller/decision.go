package poller

import (
	"cmp"
	"iter"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
	"github.com/wafbot/wafbot/poller/storm"
)

// keptAfterEvent is how long an attack is stored after an event of it, however old it is.
const keptAfterEvent = time.Hour

// decision is what one snapshot means beside the state, which stays as it is until the decision is saved: what is to be
// saved, and what only this process has to know.
type decision struct {
	record.PollUpdate
	snapshot

	cfg    *Config
	st     *state
	muted  func(apiclient.Attack) bool // asked only where there would be an event
	causes []string                    // why the polls before failed, in words for people; none: they didn't

	suppressed map[string]bool            // attack ids whose events a mute suppresses
	stopped    map[string]*record.Stopped // by attack id
	storms     storm.Batch
	checkAt    map[string]time.Time // when to look at a storm again; zero: not before something changes
	counted    bool                 // Sources is what was counted with this snapshot, even if nil: nothing new
	again      map[string]bool      // ids of records that must be judged again with what the snapshot lacks
}

// latest is a record as it was read last; nil: it has none, as a storm.
func (d *decision) latest(id string) *apiclient.Attack {
	if read := d.records[id]; read != nil {
		return read
	}
	if seen := d.st.records[id]; seen != nil {
		return seen.attack
	}
	return nil
}

// known are all records, as they were read last.
func (d *decision) known() map[string]seenRecord {
	known := make(map[string]seenRecord, len(d.st.records))
	for id, seen := range d.st.records {
		known[id] = *seen
	}
	for id, a := range d.records {
		known[id] = seenRecord{attack: a, at: d.at}
	}
	return known
}

// state is the state of an attack or storm as this decision leaves it, without a copy of what is stored.
func (d *decision) state(id string) *record.AttackState {
	if _, decided := d.Attacks[id]; decided {
		s := d.Attacks[id] // declared here, or each call would take memory for one
		return &s
	}
	if s := d.st.attacks[id]; s != nil {
		return s
	}
	return &record.AttackState{}
}

// states are the states of all attacks and storms as this decision leaves them.
func (d *decision) states() iter.Seq[*record.AttackState] {
	return func(yield func(*record.AttackState) bool) {
		for _, s := range d.Attacks {
			if !yield(&s) {
				return
			}
		}
		for id, s := range d.st.attacks {
			if _, decided := d.Attacks[id]; !decided && !yield(s) {
				return
			}
		}
	}
}

func (d *decision) isMuted(a apiclient.Attack) bool { return !a.Incident() && d.muted(a) }

// gap reports whether the account was not polled between the last good poll and this snapshot.
func (d *decision) gap() bool {
	last := d.st.lastGood
	away := !d.st.outage.From.IsZero() || d.at.Sub(last) > max(leastGap, outageAfter*d.cfg.Account.PollInterval)
	return !last.IsZero() && away
}

// judgeAgain has a record judged again, if it was read, though its bytes stay the same.
func (d *decision) judgeAgain(id string) {
	if _, read := d.records[id]; read {
		d.again[id] = true
	}
}

// emit adds the event that an attack or storm is, by its states before and now and the route that takes it, with whom
// it mentions. What was going on before the first start mentions and pages people only when it gets worse.
func (d *decision) emit(last, s record.AttackState, kind record.EventKind, route config.Route) {
	id, calm := s.Attack.ID, d.st.lastGood.IsZero()
	if !last.Notified || kind == record.BecameIncident && route.Channel != "" {
		s.Channel = route.Channel // an incident may belong elsewhere than the attack did
	}
	if !calm && !last.Notified {
		s.FoundAt = d.at.UTC()
	}
	suppressed := d.mention(last, &s, kind, route)
	if !calm {
		s.Pager = d.cfg.pagerAfter(last.Pager, kind, route, d.at)
	}
	delivery := record.DeliveryID(d.cfg.Account.Name, id, kind, s.Revision)
	if !last.Notified {
		delivery = record.CardDelivery(d.cfg.Account.Name, id)
	}
	d.Attacks[id] = s
	if kind == record.Grew && s.Storm == nil && compare.Turns(last, s) {
		d.Stale = append(d.Stale, id)
	}
	d.Events = append(d.Events, record.Event{
		ID: delivery, Account: d.cfg.Account.Name, Kind: kind, Subject: id, Channel: s.Channel, At: d.at,
		Order: s.Revision, Detail: record.AttackFacts{Mention: s.Mention, Suppressed: suppressed},
	})
}

// mention adds to an attack's state whom its event mentions. suppressed reports that this event mentions no people: in
// quiet hours, or because the last mention was a short while ago. An attack that becomes an incident always mentions.
func (d *decision) mention(last record.AttackState, s *record.AttackState, kind record.EventKind,
	route config.Route) (suppressed bool) {
	incident := kind == record.BecameIncident
	if route.Channel != "" && (!last.Notified || incident) {
		s.AckTimeout = route.AckTimeout
		s.Mention, s.SuppressedMention = "", cmp.Or(route.Mention, s.Mention, s.SuppressedMention)
	}
	if last.Rebuilt {
		s.AckTimeout = cmp.Or(s.AckTimeout, route.AckTimeout)
		if s.Mention == "" {
			s.SuppressedMention = cmp.Or(s.SuppressedMention, route.Mention) // the card shows who was mentioned, and not whom to mention when it gets worse
		}
	}
	if d.st.lastGood.IsZero() || !compare.Mentions(kind) {
		return false
	}
	s.Mention, s.SuppressedMention = cmp.Or(s.Mention, s.SuppressedMention), ""
	if s.Suppressed = false; d.cfg.Account.Quiet.Suppresses(d.cfg.Zone, s.Attack, d.at) {
		s.Mention, s.SuppressedMention, s.Suppressed = "", s.Mention, s.Mention != ""
		return true
	}
	if !incident && d.at.Sub(s.MentionedAt) < record.MentionEvery {
		return true
	}
	s.MentionedAt = d.at
	return false
}

// pagerAfter is an attack's pager after an event. What was going on before the first start has none, until it gets
// worse or resumes.
func (c *Config) pagerAfter(p *record.Pager, kind record.EventKind, route config.Route, now time.Time) *record.Pager {
	worse := kind == record.BecameIncident || kind == record.Worsened
	switch {
	case p == nil && route.Page != nil && compare.Mentions(kind):
		return &record.Pager{Route: c.Account.MatchText(route.Match), After: route.Page.After, NotifiedAt: now}
	case p == nil || !worse:
		return p
	}
	next := *p
	next.WorsenedAt = now
	if kind == record.BecameIncident && route.Page != nil {
		next.Route, next.After = c.Account.MatchText(route.Match), route.Page.After
	}
	return &next
}
