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

// result is what follows from a snapshot: what is to be saved, and what only this process has to know.
type result struct {
	record.PollUpdate
	suppressed map[string]bool            // attack ids whose events a mute suppresses
	stopped    map[string]*record.Stopped // by attack id
	storms     storm.Batch
	counted    bool            // Sources is what was counted with this snapshot, even if nil: nothing new
	again      map[string]bool // ids of records that must be judged again with what the snapshot lacks
}

// decision is one comparison of a snapshot with the state. It changes neither.
type decision struct {
	cfg   *Config
	st    *state
	snap  snapshot
	muted func(apiclient.Attack) bool // asked only where there would be an event
	out   result
}

// attack is the state of an attack or storm as this decision leaves it.
func (d *decision) attack(id string) record.AttackState { return *d.state(id) }

// state is attack, without a copy of what is stored.
func (d *decision) state(id string) *record.AttackState {
	if _, decided := d.out.Attacks[id]; decided {
		s := d.out.Attacks[id] // declared here, or each call would take memory for one
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
		for _, s := range d.out.Attacks {
			if !yield(&s) {
				return
			}
		}
		for id, s := range d.st.attacks {
			if _, decided := d.out.Attacks[id]; !decided && !yield(s) {
				return
			}
		}
	}
}

func (d *decision) isMuted(a apiclient.Attack) bool { return !a.Incident() && d.muted(a) }

// gap reports whether the account was not polled before this snapshot.
func (d *decision) gap() bool { return d.st.gap(d.snap.at, d.cfg.Account.PollInterval) }

// judgeAgain has a record judged again, if it was read, though its bytes stay the same.
func (d *decision) judgeAgain(id string) {
	if _, read := d.snap.records[id]; read {
		d.out.again[id] = true
	}
}

// finding is that an attack, or a storm, is an event.
type finding struct {
	last, now record.AttackState
	kind      record.EventKind
	route     config.Route // that takes it
	calm      bool         // it neither mentions nor pages people until it gets worse
}

// emit adds the event of a finding to the result, with whom it mentions.
func (d *decision) emit(f finding) {
	s, last, route, attackid := f.now, f.last, f.route, f.now.Attack.ID
	if !last.Notified || f.kind == record.BecameIncident && route.Channel != "" {
		s.Channel = route.Channel // an incident may belong elsewhere than the attack did
	}
	if !f.calm && !last.Notified {
		s.FoundAt = d.snap.at.UTC()
	}
	s, suppressed := f.mention(s, d.snap.at, d.cfg)
	if !f.calm {
		s.Pager = d.cfg.pagerAfter(last.Pager, f.kind, f.route, d.snap.at)
	}
	id := record.DeliveryID(d.cfg.Account.Name, attackid, f.kind, s.Revision)
	if !last.Notified {
		id = record.CardDelivery(d.cfg.Account.Name, attackid)
	}
	d.out.Attacks[attackid] = s
	if f.kind == record.Grew && s.Storm == nil && compare.Turns(last, s) {
		d.out.Stale = append(d.out.Stale, attackid)
	}
	d.out.Events = append(d.out.Events, record.Event{
		ID: id, Account: d.cfg.Account.Name, Kind: f.kind, Channel: s.Channel, At: d.snap.at,
		Payload: record.AttackChanged{Attack: s.Attack, Severity: s.Severity, Revision: s.Revision, Mention: s.Mention, Suppressed: suppressed, Quiet: s.Quiet, Storm: s.Storm},
	})
}

// mention adds to an attack's state whom its event mentions. suppressed reports that this event mentions no people: in
// quiet hours, or because the last mention was a short while ago. An attack that becomes an incident always mentions.
func (f finding) mention(s record.AttackState, at time.Time, cfg *Config) (mentioned record.AttackState, suppressed bool) {
	begins, worse := !f.last.Notified, f.kind == record.BecameIncident || f.kind == record.Worsened || f.kind == record.Resumed
	if f.route.Channel != "" && (begins || f.kind == record.BecameIncident) {
		s.AckTimeout = f.route.AckTimeout
		s.Mention, s.SuppressedMention = "", cmp.Or(f.route.Mention, s.Mention, s.SuppressedMention)
	}
	if f.last.Rebuilt {
		s.AckTimeout = cmp.Or(s.AckTimeout, f.route.AckTimeout)
		if s.Mention == "" {
			s.SuppressedMention = cmp.Or(s.SuppressedMention, f.route.Mention) // the card shows who was mentioned, and not whom to mention when it gets worse
		}
	}
	if f.calm || !begins && !worse {
		return s, false
	}
	s.Mention, s.SuppressedMention = cmp.Or(s.Mention, s.SuppressedMention), ""
	if Suppresses(cfg.Account.Quiet, cfg.Zone, s.Attack, at) {
		s.Mention, s.SuppressedMention, s.Suppressed = "", s.Mention, s.Mention != ""
		return s, true
	}
	s.Suppressed = false
	if f.kind != record.BecameIncident && worse && at.Sub(s.MentionedAt) < record.MentionEvery {
		return s, true
	}
	s.MentionedAt = at
	return s, false
}

// pagerAfter is an attack's pager after an event. What was going on before the first start has none, until it gets
// worse or resumes.
func (c *Config) pagerAfter(p *record.Pager, kind record.EventKind, route config.Route, now time.Time) *record.Pager {
	worse := kind == record.BecameIncident || kind == record.Worsened
	begins := kind == record.NewIncident || kind == record.NewAttack
	switch {
	case p == nil && route.Page != nil && (begins || worse || kind == record.Resumed):
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
