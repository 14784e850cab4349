package efficacy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How often what was judged is written down though only its figures changed: when they doubled, a minute later at the earliest; else that long
// later. They are lower bounds, so an older one is no lie.
const (
	figuresSoonest = time.Minute
	figuresLatest  = 5 * time.Minute
)

// rereadAfter is how long the changes that are watched are taken for what they were, unless a refresh says that they changed.
const rereadAfter = time.Minute

// Store keeps what was seen of changes.
type Store interface {
	// Changes are the account's changes, the newest first.
	Changes(ctx context.Context, account string) ([]record.Change, error)
	// AccountContext is what is known of the account beside its attacks.
	AccountContext(ctx context.Context, account string) (record.AccountContext, error)
	// Efficacy is what was seen of an account's changes, by their ids.
	Efficacy(ctx context.Context, account string) (map[string]record.Efficacy, error)
	// SaveEfficacy saves what was seen, queues the cards of the changes' attacks for a redraw, and puts events into the outbox, all in one step. It
	// fails when another replica owns the account now.
	SaveEfficacy(ctx context.Context, account string, all []record.Judgement, events ...record.Event) error
}

// Notifier hears of what was stored, so that the replica that owns the account posts and redraws at once.
type Notifier interface {
	// Notify says that events were put into the outbox.
	Notify(account string, events []record.Event)
	// Redraw says that cards are stale.
	Redraw(account string)
}

// Watch judges one account's changes by the snapshots of the service's records. Only Refresh may be called at the same time as others.
type Watch struct {
	account  *config.Account
	store    Store
	notifier Notifier
	judge    judge
	stale    atomic.Bool // changes may have been made since they were read

	known    bool // what follows is what the store holds, or newer
	read     time.Time
	all      []record.Change
	changes  []record.Change // those that are watched
	subjects map[string][]subject
	seen     map[string]record.Efficacy // by change, as seen
	saved    map[string]record.Efficacy // and as written down
	most     highs
}

// NewWatch makes the watch of an account. Speed is how many times faster than the real service this one is; 0: it is the real one.
func NewWatch(account *config.Account, store Store, notifier Notifier, speed float64) *Watch {
	return &Watch{account: account, store: store, notifier: notifier, judge: judge{speed}, most: highs{}}
}

// Refresh says that the account's changes may be others by now.
func (w *Watch) Refresh() { w.stale.Store(true) }

// Observe takes a snapshot in, saves what it means where that is worth showing, and notifies. A snapshot in which nothing came costs no reading
// and no writing, unless time alone changes the finding. After an error what was seen is lost but for what was saved.
func (w *Watch) Observe(ctx context.Context, g Snapshot) error {
	if g.Since.IsZero() {
		w.known = false // another replica may have watched meanwhile
	}
	if err := w.load(ctx, g.At); err != nil {
		return err
	}
	w.observe(g)
	all, s := w.worthSaving(g)
	if slices.ContainsFunc(all, func(j record.Judgement) bool { return j.Notify }) {
		w.Refresh() // no one is called about what was undone just now
		if err := w.load(ctx, g.At); err != nil {
			return err
		}
		all, s = w.worthSaving(g)
	}
	if len(all) == 0 {
		return nil
	}
	if err := w.explain(ctx, s, all); err != nil {
		return err
	}
	var events []record.Event
	for _, j := range all {
		events = append(events, judgedEvents(j, w.account.Channel)...)
	}
	if err := w.store.SaveEfficacy(ctx, w.account.Name, all, events...); err != nil {
		w.known = false
		return err
	}
	w.notifier.Redraw(w.account.Name)
	w.notifier.Notify(w.account.Name, events)
	for _, j := range all {
		w.seen[j.Change.ID], w.saved[j.Change.ID] = j.Efficacy, j.Efficacy
	}
	return nil
}

// load reads what is to be watched, if it isn't known or may be others by now.
func (w *Watch) load(ctx context.Context, now time.Time) error {
	stale := w.stale.Swap(false)
	if w.known && !stale && (len(w.changes) == 0 || now.Sub(w.read) < rereadAfter) {
		return nil
	}
	all, err := w.store.Changes(ctx, w.account.Name)
	if err == nil && !w.known {
		w.saved, err = w.store.Efficacy(ctx, w.account.Name)
		w.seen = maps.Clone(w.saved)
	}
	if err != nil {
		w.Refresh()
		return err
	}
	w.known, w.read, w.all, w.changes, w.subjects = true, now, all, nil, map[string][]subject{}
	for _, ch := range all {
		if subjects := subjectsOf(ch); len(subjects) > 0 && watched(ch, all, now) {
			w.changes, w.subjects[ch.ID] = append(w.changes, ch), subjects
		}
	}
	return nil
}

// atOnce is how many records are taken apart at a time: a first poll, or a flood, has very many.
const atOnce = 500

// observe takes what came into all that is watched.
func (w *Watch) observe(g Snapshot) {
	if len(g.Deltas) == 0 && !g.Since.IsZero() {
		return
	}
	for some := range slices.Chunk(g.Deltas, atOnce) {
		w.take(g, some)
	}
	w.most.prune(g.At)
	if !g.Since.IsZero() {
		return
	}
	for _, ch := range w.changes {
		e := w.seen[ch.ID]
		e.From = g.At
		w.seen[ch.ID] = e
	}
}

// take takes some of a snapshot's records into all that is watched.
func (w *Watch) take(g Snapshot, some []record.AttackDelta) {
	seen := make([]delta, len(some))
	for i, p := range some {
		seen[i] = g.delta(p, w.most)
	}
	for _, ch := range w.changes {
		e, fresh := w.seen[ch.ID], seen
		if g.Since.IsZero() { // of what came before only what is written down is known, and must not be counted twice
			fresh = slices.DeleteFunc(slices.Clone(seen), func(s delta) bool { return !s.hits.since.After(e.At) })
		}
		w.seen[ch.ID] = w.judge.observe(e, ch, w.subjects[ch.ID], fresh)
	}
}

// worthSaving judges all that is watched, and gives what people should see, and in what situation.
func (w *Watch) worthSaving(g Snapshot) (all []record.Judgement, s call.Situation) {
	if len(w.changes) == 0 {
		return nil, s // what follows costs as much as the lists are long
	}
	now := g.At
	s = w.situation(g)
	for _, ch := range w.changes {
		e, saved := w.seen[ch.ID], w.saved[ch.ID]
		e.Finding, e.At = w.judge.finding(e, ch, now, w.account.OngoingFor), now
		e.Off, e.Ends = Gone(s, ch), shortenedTo(s, ch)
		if e.Finding != saved.Finding {
			e.Since = now
		}
		turned := e.Finding != saved.Finding || finding(e) != finding(saved) || e.Off != saved.Off || !e.Ends.Equal(saved.Ends)
		failed := (e.Finding == record.NotWorking || e.Finding == record.SourceReturned) && e.LastCall() != e.Finding
		again := e.Finding == record.Working && e.LastCall() == record.NotWorking && now.Sub(e.Since) >= w.judge.scaled(worksAgainAfter)
		switch age := now.Sub(saved.At); {
		case turned, again:
		case e.Finding != record.NotYet && !e.From.Equal(saved.From): // what is said to be seen "since" is another time
		case e.Finding == record.NotYet && saved.At.IsZero(), maps.Equal(e.Parts, saved.Parts), age < figuresSoonest:
			continue
		case e.Figures() < 2*saved.Figures() && age < figuresLatest:
			continue
		}
		if failed || again {
			e.Called = append(slices.Clip(e.Called), e.Finding)
		}
		all = append(all, record.Judgement{Change: ch, Efficacy: e, Turned: turned, Notify: failed})
	}
	return all, s
}

// situation is what a snapshot holds beside what was observed of changes.
func (w *Watch) situation(g Snapshot) call.Situation {
	s := call.Situation{Account: w.account, AccountChanges: w.all, Efficacy: w.seen, ListsReadAt: g.ListsReadAt, Now: g.At}
	s.Entries, s.Rules = Overlay(g.Entries, g.Rules, w.all, g.ListsReadAt)
	return s
}

// explain adds to what turned, or does not work, what cards say of it from now on and why.
func (w *Watch) explain(ctx context.Context, s call.Situation, all []record.Judgement) (err error) {
	if !slices.ContainsFunc(all, wantsWords) {
		return nil
	}
	if s.Context, err = w.store.AccountContext(ctx, w.account.Name); err != nil {
		return err
	}
	for i, j := range all {
		e := &all[i].Efficacy
		if s.Attack = (apiclient.Attack{}); j.Change.Observed != nil {
			s.Attack = j.Change.Observed.Attack
		}
		s.ID, s.Efficacy = j.Change.AttackID, map[string]record.Efficacy{j.Change.ID: *e}
		if e.Why = nil; e.Finding == record.NotWorking && !s.ListsReadAt.IsZero() {
			e.Why = text.Join(likelyReasons(s, j.Change), "; ")
		}
		if line := Line(s, j.Change); j.Turned && len(line) > 0 {
			addRemark(e, s.Now, line)
		}
	}
	return nil
}

func wantsWords(j record.Judgement) bool { return j.Turned || j.Efficacy.Finding == record.NotWorking }

// judgedEvents are the events that a mitigation does not work though it should, or that what it denied came back, each time once.
func judgedEvents(j record.Judgement, channel string) []record.Event {
	if !j.Notify {
		return nil
	}
	kind := record.MitigationNotWorking
	if j.Efficacy.Finding == record.SourceReturned {
		kind = record.DeniedSourceReturned
	}
	id := fmt.Sprintf("%s:%s", j.Change.ID, kind)
	if calls := j.Efficacy.Calls(j.Efficacy.Finding); calls > 1 {
		id = fmt.Sprintf("%s:%d", id, calls)
	}
	return []record.Event{{ID: id, Account: j.Change.Account, Kind: kind, Channel: channel, At: j.Efficacy.At, Payload: record.ChangeFacts{Change: j.Change.ID}}}
}
