package poller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// saveEvery is how often polls without events are saved. After a restart the time since is read once more, which does
// no harm.
const saveEvery = 30 * time.Second

// storeError marks errors of the store: the others are the service's.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

func (e *storeError) Unwrap() error { return e.err }

// Poll reads the service once, saves the events that it finds and wakes the notifier for them. Its errors are those of
// the service (*apiclient.Error) and of the store. When the service breaks off, what it gave before is judged all the
// same; when the store does, no event is passed on and the next poll begins with loading the state again: what was
// saved is unknown.
func (p *Poller) Poll(ctx context.Context) error {
	begin := time.Now()
	err := delay.Try(p.cfg.Log, "a poll", func() error { return p.poll(ctx) })
	p.loaded = p.loaded && !errors.Is(err, delay.ErrPanic)
	if ctx.Err() == nil {
		if p.cfg.Polls != nil {
			p.cfg.Polls.Observe(time.Since(begin).Seconds())
		}
		p.noteHealth(err, begin)
		p.notifyOutage(ctx, err)
		p.notifyForeign(ctx)
	}
	return err
}

func (p *Poller) poll(ctx context.Context) error {
	if err := p.load(ctx); err != nil {
		return &storeError{fmt.Errorf("load state: %w", err)}
	}
	r := p.newReader()
	readErr := r.read(ctx)
	if broken := (*storeError)(nil); errors.As(readErr, &broken) {
		return broken
	}
	nothing := len(r.records) == 0 && r.bytes == 0 // what came may be settled already, but what there is no room for is yet to go
	if readErr != nil && (ctx.Err() != nil || nothing || p.st.lastGood.IsZero()) {
		return readErr // a first start is notified of as a whole
	}
	d := p.decide(ctx, r.snapshot)
	if d.good {
		d.LastGood = d.at
	}
	if d.whole {
		d.Delete = d.deletable()
	}
	more, edge := d.surplus()
	d.Delete, d.Cap = append(d.Delete, more...), d.capAfter(edge)
	d.Sources, d.counted = d.countSources()
	if err := p.spare(ctx, d); err != nil {
		return &storeError{fmt.Errorf("read events: %w", err)}
	}
	if err := p.settle(ctx, d); err != nil {
		return err
	}
	if d.good {
		p.mu.Lock()
		p.health.LastGood = d.at
		p.mu.Unlock()
	}
	return readErr
}

// spare takes the attacks out of those to be dropped of which an event waits: it is drawn from what is stored of them.
// Events wait for as long as Slack is away, and it is they that bound how many attacks are kept for it.
func (p *Poller) spare(ctx context.Context, d *decision) error {
	if len(d.Delete) == 0 {
		return nil
	}
	waiting, err := p.cfg.Store.Waiting(ctx, p.cfg.Account.Name)
	kept := map[string]bool{}
	for _, e := range append(waiting, d.Events...) {
		for _, id := range e.Subjects() {
			kept[id] = true
		}
	}
	d.Delete = slices.DeleteFunc(d.Delete, func(id string) bool { return kept[id] })
	return err
}

// load makes the stored state the poller's own, unless it is already.
func (p *Poller) load(ctx context.Context) error {
	if p.loaded {
		return nil
	}
	stored, err := p.cfg.Store.Load(ctx, p.cfg.Account.Name)
	if err != nil {
		return err
	}
	next := p.st.loaded(stored)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.st, p.loaded = next, true
	return nil
}

// newReader is a reader of a poll that begins now.
func (p *Poller) newReader() *reader {
	now := p.cfg.Clock.Now()
	return &reader{p, snapshot{
		begin: time.Now(), at: now, from: now.Add(-p.cfg.Account.Lookback),
		records: map[string]*apiclient.Attack{}, sums: map[string]uint64{}, tries: map[netip.Addr]time.Time{},
	}}
}

// settle completes a decision with its evidence, saves it, takes it over, and wakes the notifier for its events.
func (p *Poller) settle(ctx context.Context, d *decision) error {
	p.judge(ctx, d)
	d.Evidence = d.evidence()
	if err := p.save(ctx, d.PollUpdate); err != nil {
		p.loaded = false
		return &storeError{fmt.Errorf("save state: %w", err)}
	}
	p.mu.Lock()
	p.st.apply(d)
	p.mu.Unlock()
	p.cfg.Notifier.Saved(p.cfg.Account.Name, d.PollUpdate)
	return nil
}

// save saves an update, unless it can wait.
func (p *Poller) save(ctx context.Context, u record.PollUpdate) error {
	if u.Empty() && u.LastGood.Sub(p.st.saved).Abs() < saveEvery {
		return nil
	}
	if err := p.cfg.Store.Save(ctx, p.cfg.Account.Name, u); err != nil {
		return err
	}
	p.st.saved = u.LastGood
	if u.Outage != nil {
		p.st.outage = *u.Outage
	}
	return nil
}

// judge notes what changed, and after a complete poll judges all active mitigations: wafbot's changes by what came
// since the last judged poll, and attacks that have a new decision or whose sources an edited list names.
func (p *Poller) judge(ctx context.Context, d *decision) {
	if p.cfg.Judge == nil {
		return
	}
	c := &p.st.changes
	for _, id := range d.changed {
		c.note(id, p.st.records[id])
	}
	for id := range d.Attacks {
		c.decided[id] = true
	}
	if !d.good {
		return
	}
	poll, found := p.toJudge(d), record.Judged{}
	err := delay.Try(p.cfg.Log, "judging mitigations", func() (err error) {
		found, err = p.cfg.Judge(ctx, poll)
		return err
	})
	if err != nil {
		if ctx.Err() == nil { // else the next owner judges
			p.cfg.Log.Error("judge mitigations", "err", err)
		}
		return
	}
	for id, others := range found.Others {
		s := *d.state(id)
		s.Others = others
		d.Attacks[id] = s
	}
	d.Judged, d.Events, d.Stale = found.Changes, append(d.Events, found.Events...), append(d.Stale, found.Stale...)
	c.listed = poll.ListsReadAt
	c.before = map[string]*apiclient.Attack{} // one that was cleared takes as much memory as before
	if c.whole = c.whole || d.whole; c.whole {
		c.last = d.at
	}
	maps.DeleteFunc(c.decided, func(id string, _ bool) bool {
		pending := func(m record.Mitigation) bool { return m.Finding == record.NotYet }
		return !poll.ListsReadAt.IsZero() && !slices.ContainsFunc(d.state(id).Others, pending)
	})
}

// toJudge is the poll as the judge gets it.
func (p *Poller) toJudge(d *decision) record.Poll {
	c, settings := &p.st.changes, p.Settings()
	poll := record.Poll{
		Decided: c.decided, At: d.at, Since: c.last, Changes: make([]record.AttackDelta, 0, len(c.before)),
		Entries: settings.Entries, Rules: settings.Rules, ListsReadAt: settings.At,
	}
	for id, before := range c.before {
		if now := d.latest(id); now != nil {
			poll.Changes = append(poll.Changes, record.AttackDelta{Before: before, Now: now})
		}
	}
	ids := maps.Clone(c.decided)
	if settings.At.After(c.listed) {
		for _, id := range p.st.ongoing() {
			ids[id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if s := d.state(id); s.Notified && !s.Grouped() {
			poll.Attacks = append(poll.Attacks, s)
		}
	}
	return poll
}

// mutes reads once what is muted, when decide first needs it. Most polls find no event.
func (p *Poller) mutes(ctx context.Context) func(apiclient.Attack) bool {
	muted := sync.OnceValue(func() func(apiclient.Attack) bool {
		if p.cfg.Preferences != nil {
			muted, err := p.cfg.Preferences.Muted(ctx, p.cfg.Account.Name)
			if err == nil {
				return muted
			}
			p.cfg.Log.Warn("read mutes: nothing is muted in this poll", "err", err) // too many notifications are better than too few
		}
		return func(apiclient.Attack) bool { return false }
	})
	return func(a apiclient.Attack) bool { return muted()(a) }
}

// noteHealth notes how a poll went that began then. It logs each cause of an outage once.
func (p *Poller) noteHealth(err error, begin time.Time) {
	h, log := &p.health, p.cfg.Log
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		if len(p.causes) > 0 {
			log.Info("polling works again", "after", time.Since(p.failing).Round(time.Second))
		}
		p.causes, p.failures, h.Failing, h.Since = nil, 0, "", time.Time{}
		return
	}
	if apiclient.KindOf(err) != 0 {
		p.failures++
	}
	h.Failing = inWords(err)
	if _, store := errors.AsType[*storeError](err); store {
		h.Failing = "the bot's store can't be reached"
	}
	if h.Since.IsZero() {
		h.Since, p.failing = p.cfg.Clock.Now().Add(-time.Since(begin)), begin
	}
	if !slices.Contains(p.causes, h.Failing) {
		p.causes = append(p.causes, h.Failing)
		log.Error("polling fails", "why", h.Failing, "error", err)
	}
}

// notifyOutage notifies once in an outage that the account can't be polled. Failures of the store are no such event: it
// could not be saved.
func (p *Poller) notifyOutage(ctx context.Context, err error) {
	kind := apiclient.KindOf(err)
	if kind == 0 || kind == apiclient.Foreign { // the account's own attacks are seen
		return
	}
	h := p.health
	least := max(outageAfter*p.cfg.Account.PollInterval, leastOutage)
	if kind == apiclient.Unauthenticated || kind == apiclient.Forbidden { // for good, until a person fixes it
		least = leastOutage
	}
	if !p.st.outage.From.IsZero() || p.failures < outageFailures || time.Since(p.failing) < least {
		return
	}
	facts := record.UnreachableFacts{Outage: record.Outage{From: h.Since.UTC(), Why: h.Failing}, Fix: fix(kind),
		LastGood: p.st.lastGood}
	events := []record.Event{p.cfg.accountEvent(record.APIUnreachable, h.Since.UnixMilli(),
		p.cfg.Clock.Now().UTC(), facts)}
	p.alarm(ctx, record.PollUpdate{Outage: &facts.Outage, Stale: p.st.ongoing(), Events: events})
}

// notifyForeign notifies once a day that any answer held records of other clients.
func (p *Poller) notifyForeign(ctx context.Context) {
	n, now := p.cfg.API.Foreign(), p.cfg.Clock.Now().UTC()
	if n == p.foreign || !p.loaded {
		return
	}
	p.cfg.Log.Error("the service answers with records of other clients: they are left out", "records", n-p.foreign)
	p.foreign = n
	if day := now.Unix() / (24 * 60 * 60); day != p.alarmed {
		e := p.cfg.accountEvent(record.ForeignRecords, day, now, record.ForeignFacts{Records: n})
		if p.alarm(ctx, record.PollUpdate{Events: []record.Event{e}}) {
			p.alarmed = day
		}
	}
}

// alarm saves events of the account as a whole and has people notified, and reports whether it could.
func (p *Poller) alarm(ctx context.Context, u record.PollUpdate) bool {
	u.LastGood = p.st.lastGood
	if err := p.save(ctx, u); err != nil {
		p.loaded = false
		p.cfg.Log.Error("what is wrong can't be saved yet, so no one is notified", "err", err)
		return false
	}
	p.cfg.Notifier.Saved(p.cfg.Account.Name, u)
	return true
}
