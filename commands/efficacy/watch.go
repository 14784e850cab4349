package efficacy

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How often what was judged is written down though only its figures changed: when they doubled, a minute later at the
// earliest; else that long later. They are lower bounds, so an older one is no lie.
const (
	figuresSoonest = time.Minute
	figuresLatest  = 5 * time.Minute
)

// rereadAfter is how long the changes that are watched are taken for what they were, unless a refresh says that they
// changed.
const rereadAfter = time.Minute

// Store has what is judged. An interface because the poller's tests judge without a store.
type Store interface {
	// Changes are the account's changes, the newest first.
	Changes(ctx context.Context, account string) ([]record.Change, error)
	// AccountContext is what is known of the account beside its attacks.
	AccountContext(ctx context.Context, account string) (record.AccountContext, error)
	// Efficacy is what was seen of an account's changes, by their ids.
	Efficacy(ctx context.Context, account string) (map[string]record.Efficacy, error)
}

// Watch judges one account's changes, and what others have in force, by what polls found. Only Refresh may be called at
// the same time as others.
type Watch struct {
	account *config.Account
	store   Store
	judge   judge
	stale   atomic.Bool // changes may have been made since they were read

	entries []apiclient.IPRule // of the last poll that was judged
	listed  time.Time          // when they were read
	known   bool               // what follows is what the store holds, or newer
	read    time.Time
	all     []record.Change
	changes []record.Change            // those that are watched
	seen    map[string]record.Efficacy // by change, as seen
	saved   map[string]record.Efficacy // and as written down
	most    highs
}

// NewWatch makes the watch of an account. Speed is how many times faster than the real service this one is; 0: it is
// the real one.
func NewWatch(account *config.Account, store Store, speed float64) *Watch {
	return &Watch{account: account, store: store, judge: judge{speed}, most: highs{}}
}

// Refresh says that the account's changes may be others by now.
func (w *Watch) Refresh() { w.stale.Store(true) }

// Judge takes a poll in and gives what it means where that is worth showing: whoever polls saves it, or judges the next
// poll as one that knows nothing of before. A poll in which nothing came costs no reading and no writing, unless time
// alone changes a finding. After an error the next poll is to hold this one's changes, too.
func (w *Watch) Judge(ctx context.Context, g record.Poll) (found record.Judged, err error) {
	if g.Since.IsZero() {
		w.known, w.entries, w.listed = false, nil, time.Time{} // another replica may have watched meanwhile
	}
	known := w.known
	w.known = false // until all of it is judged: an error, or a panic, may leave half of it
	if err := w.load(ctx, g.At, known); err != nil {
		return found, err
	}
	w.observe(g)
	edited := w.edited(g)
	found, s := w.find(g, edited)
	more := func(a *record.AttackState) bool { return len(found.Others[a.Attack.ID]) > len(a.Others) }
	if slices.ContainsFunc(g.Attacks, more) || slices.ContainsFunc(found.Changes,
		func(j record.Judgement) bool { return j.Notify }) {
		w.Refresh() // no one is called about what was undone just now, and what was just made is no one else's
		if err := w.load(ctx, g.At, true); err != nil {
			return record.Judged{}, err
		}
		found, s = w.find(g, edited)
	}
	if err := w.explain(ctx, s, found.Changes); err != nil {
		return record.Judged{}, err
	}
	for _, j := range found.Changes {
		if j.Notify {
			found.Events = append(found.Events, failure(j, w.account.Channel))
		}
		w.seen[j.Change.ID], w.saved[j.Change.ID] = j.Efficacy, j.Efficacy
	}
	w.entries, w.listed, w.known = g.Entries, g.ListsReadAt, true
	return found, nil
}

// find judges the changes that are watched, and what others did against attacks where that may have turned. It also
// gives the situation that it judged in.
func (w *Watch) find(g record.Poll, edited []string) (found record.Judged, s call.Situation) {
	found = record.Judged{Others: map[string][]record.Mitigation{}, Stale: edited}
	if len(w.changes)+len(g.Attacks) == 0 {
		return found, s // what follows costs as much as the lists are long
	}
	s = call.Situation{Account: w.account, AccountChanges: w.all, Efficacy: w.seen, ListsReadAt: g.ListsReadAt, Now: g.At}
	s.Entries, s.Rules = Overlay(g.Entries, g.Rules, w.all, g.ListsReadAt)
	found.Changes = w.worthSaving(s)
	for _, a := range g.Attacks {
		id := a.Attack.ID
		if g.ListsReadAt.IsZero() || a.Storm != nil || !g.Decided[id] && !slices.Contains(edited, id) {
			continue
		}
		s := s.As(*a)
		s.Attack = a.Attack
		if now := Others(s, w.judge.speed); !reflect.DeepEqual(now, a.Others) {
			if found.Others[id] = now; !slices.Contains(found.Stale, id) {
				found.Stale = append(slices.Clip(found.Stale), id)
			}
		}
	}
	return found, s
}

// edited are the attacks and storms whose sources an entry names that was edited since the last poll that was judged:
// others edit the lists, too, and a source that another person denied makes no event by itself.
func (w *Watch) edited(g record.Poll) (ids []string) {
	if g.ListsReadAt.Equal(w.listed) {
		return nil
	}
	before := map[int64]apiclient.IPRule{}
	for _, e := range w.entries {
		before[e.ID] = e
	}
	var differing []apiclient.IPRule
	for _, e := range g.Entries {
		if was := before[e.ID]; !reflect.DeepEqual(was, e) {
			differing = append(differing, was, e)
		}
		delete(before, e.ID)
	}
	differing = slices.AppendSeq(differing, maps.Values(before)) // those that are gone
	for _, a := range g.Attacks {
		isNamed := func(e apiclient.IPRule) bool { return names(e, a.Attack.Sources...) }
		if !a.Quiet && slices.ContainsFunc(differing, isNamed) {
			ids = append(ids, a.Attack.ID)
		}
	}
	return ids
}

// load reads what is to be watched, if it isn't known or may be others by now.
func (w *Watch) load(ctx context.Context, now time.Time, known bool) error {
	stale := w.stale.Swap(false)
	if known && !stale && (len(w.changes) == 0 || now.Sub(w.read) < rereadAfter) {
		return nil
	}
	all, err := w.store.Changes(ctx, w.account.Name)
	if err == nil && !known {
		w.saved, err = w.store.Efficacy(ctx, w.account.Name)
		w.seen = maps.Clone(w.saved)
	}
	if err != nil {
		w.Refresh()
		return err
	}
	w.read, w.all = now, all
	w.changes = slices.DeleteFunc(slices.Clone(all), func(ch record.Change) bool {
		return len(subjectsOf(ch)) == 0 || !watched(ch, all, now)
	})
	return nil
}

// atOnce is how many records are taken apart at a time: a first poll, or a flood, has very many.
const atOnce = 500

// observe takes what came into all that is watched.
func (w *Watch) observe(g record.Poll) {
	for some := range slices.Chunk(g.Changes, atOnce) {
		seen := make([]delta, len(some))
		for i, p := range some {
			seen[i] = deltaOf(g, p, w.most)
		}
		for _, ch := range w.changes {
			e, fresh := w.seen[ch.ID], seen
			if g.Since.IsZero() { // of what came before only what is written down is known, and must not be counted twice
				fresh = slices.DeleteFunc(slices.Clone(seen), func(s delta) bool { return !s.hits.since.After(e.At) })
			}
			w.seen[ch.ID] = w.judge.observe(e, ch, fresh)
		}
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

// worthSaving judges all that is watched, and gives what people should see.
func (w *Watch) worthSaving(s call.Situation) (all []record.Judgement) {
	for _, ch := range w.changes {
		e, saved, now := w.seen[ch.ID], w.saved[ch.ID], s.Now
		e.Finding, e.At = w.judge.finding(e, ch, now, w.account.OngoingFor), now
		e.Off, e.Ends = Gone(s, ch), shortenedTo(s, ch)
		if e.Finding != saved.Finding {
			e.Since = now
		}
		turned := e.Finding != saved.Finding || finding(e) != finding(saved) || e.Off != saved.Off ||
			!e.Ends.Equal(saved.Ends)
		failed := (e.Finding == record.NotWorking || e.Finding == record.SourceReturned) && e.LastCall() != e.Finding
		again := e.Finding == record.Working && e.LastCall() == record.NotWorking &&
			now.Sub(e.Since) >= w.judge.scaled(worksAgainAfter)
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
	return all
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

// failure is the event that a mitigation doesn't work, or that a source came back after its denial. Each time has an id
// of its own.
func failure(j record.Judgement, channel string) record.Event {
	kind := record.MitigationNotWorking
	if j.Efficacy.Finding == record.SourceReturned {
		kind = record.DeniedSourceReturned
	}
	id := fmt.Sprintf("%s:%s", j.Change.ID, kind)
	if calls := j.Efficacy.Calls(j.Efficacy.Finding); calls > 1 {
		id = fmt.Sprintf("%s:%d", id, calls)
	}
	return record.Event{ID: id, Account: j.Change.Account, Kind: kind, Channel: channel, At: j.Efficacy.At,
		Detail: record.ChangeFacts{Change: j.Change.ID}}
}
