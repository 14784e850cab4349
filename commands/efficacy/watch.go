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
	"github.com/wafbot/wafbot/commands/grammar"
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

// Store has what is judged.
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
	done := false
	defer func() { w.known = done }() // also where it panics
	if g.Since.IsZero() {
		w.known, w.entries, w.listed = false, nil, time.Time{} // another replica may have watched meanwhile
	}
	if err := w.load(ctx, g.At); err != nil {
		return found, err
	}
	w.observe(g)
	all, s := w.worthSaving(g)
	edited := w.edited(g)
	others := w.others(s, g, edited)
	more := func(a *record.AttackState) bool { return len(others[a.Attack.ID]) > len(a.Others) }
	if slices.ContainsFunc(g.Attacks, more) || slices.ContainsFunc(all, func(j record.Judgement) bool { return j.Notify }) {
		w.Refresh() // no one is called about what was undone just now, and what was just made is no one else's
		if err := w.load(ctx, g.At); err != nil {
			return found, err
		}
		all, s = w.worthSaving(g)
		others = w.others(s, g, edited)
	}
	if err := w.explain(ctx, s, all); err != nil {
		return found, err
	}
	found = record.Judged{Changes: all, Others: others, Stale: edited}
	for id := range others {
		if !slices.Contains(found.Stale, id) {
			found.Stale = append(found.Stale, id)
		}
	}
	w.entries, w.listed = g.Entries, g.ListsReadAt
	for _, j := range all {
		found.Events = append(found.Events, judgedEvents(j, w.account.Channel)...)
		w.seen[j.Change.ID], w.saved[j.Change.ID] = j.Efficacy, j.Efficacy
	}
	done = true
	return found, nil
}

// others are the mitigations of a poll's attacks that no change is judged by, of those where they turned.
func (w *Watch) others(s call.Situation, g record.Poll, edited []string) map[string][]record.Mitigation {
	turned := map[string][]record.Mitigation{}
	if g.ListsReadAt.IsZero() {
		return nil
	}
	for _, a := range g.Attacks {
		if a.Storm != nil || !g.Decided[a.Attack.ID] && !slices.Contains(edited, a.Attack.ID) {
			continue
		}
		s := s.As(*a)
		s.Attack = a.Attack
		if now := Others(s, w.judge.speed); !reflect.DeepEqual(now, a.Others) {
			turned[a.Attack.ID] = now
		}
	}
	return turned
}

// edited are the attacks and storms whose sources an entry names that was edited since the last poll that was judged:
// others edit the lists, too, and a source that another person denied makes no event by itself.
func (w *Watch) edited(g record.Poll) (ids []string) {
	if g.ListsReadAt.Equal(w.listed) {
		return nil
	}
	entries := differing(w.entries, g.Entries)
	for _, a := range g.Attacks {
		names := func(t grammar.Target) bool { return slices.ContainsFunc(a.Attack.Sources, t.Holds) }
		if !a.Quiet && slices.ContainsFunc(entries, func(e apiclient.IPRule) bool { return slices.ContainsFunc(grammar.TargetsOf(e), names) }) {
			ids = append(ids, a.Attack.ID)
		}
	}
	return ids
}

// differing are the entries of either list that the other doesn't hold as they are.
func differing(before, after []apiclient.IPRule) []apiclient.IPRule {
	without := func(all, others []apiclient.IPRule) []apiclient.IPRule {
		byID := make(map[int64]apiclient.IPRule, len(others))
		for _, e := range others {
			byID[e.ID] = e
		}
		return slices.DeleteFunc(slices.Clone(all), func(e apiclient.IPRule) bool { return reflect.DeepEqual(byID[e.ID], e) })
	}
	return append(without(before, after), without(after, before)...)
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
	w.known, w.read, w.all = true, now, all
	w.changes = slices.DeleteFunc(slices.Clone(all), func(ch record.Change) bool {
		return len(subjectsOf(ch)) == 0 || !watched(ch, all, now)
	})
	return nil
}

// atOnce is how many records are taken apart at a time: a first poll, or a flood, has very many.
const atOnce = 500

// observe takes what came into all that is watched.
func (w *Watch) observe(g record.Poll) {
	if len(g.Changes) == 0 && !g.Since.IsZero() {
		return
	}
	for some := range slices.Chunk(g.Changes, atOnce) {
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
func (w *Watch) take(g record.Poll, some []record.AttackDelta) {
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

// worthSaving judges all that is watched, and gives what people should see, and in what situation.
func (w *Watch) worthSaving(g record.Poll) (all []record.Judgement, s call.Situation) {
	if len(w.changes)+len(g.Attacks) == 0 {
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
func (w *Watch) situation(g record.Poll) call.Situation {
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

// judgedEvents are the events that a mitigation does not work though it should, or that what it denied came back, each
// time once.
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
	return []record.Event{{ID: id, Account: j.Change.Account, Kind: kind, Channel: channel, At: j.Efficacy.At, Detail: record.ChangeFacts{Change: j.Change.ID}}}
}
