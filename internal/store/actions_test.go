package store_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

func (p *protocol) deliver(t *rapid.T) {
	one, in := p.awake(t), fmt.Sprint("acme:U", rapid.IntRange(1, 3).Draw(t, "person"))
	id := fmt.Sprint(in, ":", rapid.IntRange(0, 6).Draw(t, "id"))
	p.writes++
	work := fmt.Sprint(in, "/", id, "/", p.writes)
	fresh, waiting, err := one.store.Inbox.Accept(t.Context(), []byte(work), lane(in), id)
	require.NoError(t, err)
	require.Zero(t, waiting)
	_, known := p.accepted[id]
	require.Equal(t, !known, fresh)
	if fresh {
		p.accepted[id] = work
		p.lanes[in] = append(p.lanes[in], work)
	}
}

// finish finishes what a replica has in hand, its own or what was taken over by another meanwhile.
func (p *protocol) finish(t *rapid.T) { p.settleOne(t, p.awake(t), false) }

// pass passes the turn of what a replica has in hand, which stays there.
func (p *protocol) pass(t *rapid.T) { p.settleOne(t, p.awake(t), true) }

// settleOne reports whether the replica has anything in hand.
func (p *protocol) settleOne(t *rapid.T, one *process, pass bool) bool {
	synctest.Wait() // for what is handed over since another turn was passed
	if len(one.hand) == 0 {
		return false
	}
	i := rapid.IntRange(0, len(one.hand)-1).Draw(t, "in hand")
	j, settle := one.hand[i], one.hand[i].Pass
	if !pass {
		one.hand, settle = slices.Delete(one.hand, i, i+1), j.Done
	}
	left := p.stream(t)
	counts := j.Mine(t.Context()) && slices.Contains(left, j.work)
	if counts {
		p.requireOneHolder(t, one, j.work)
		left = append(left, p.next(j.work)...)
	}
	if counts && !pass {
		p.finished[j.work]++
		left = slices.DeleteFunc(left, func(work string) bool { return work == j.work })
	}
	require.NoError(t, settle(t.Context()))
	require.ElementsMatch(t, left, p.stream(t))
	return true
}

// next is what comes into the stream when that work passes its turn: none if it did before, or none waits.
func (p *protocol) next(work string) []string {
	name, _, _ := strings.Cut(work, "/")
	lane := p.lanes[name]
	if len(lane) == 0 || lane[0] != work {
		return nil
	}
	p.lanes[name] = lane[1:]
	return lane[1:min(2, len(lane))]
}

// requireOneHolder requires that work is one replica's at a time.
func (p *protocol) requireOneHolder(t *rapid.T, one *process, work string) {
	for _, other := range p.living {
		if other == one || other.resume != nil {
			continue
		}
		for _, j := range other.hand {
			require.False(t, j.work == work && j.Mine(t.Context()), "%s and %s have %s", one.name, other.name, work)
		}
	}
}

// stream is the work that isn't done.
func (p *protocol) stream(t *rapid.T) (all []string) {
	for _, n := range store.Shards() {
		msgs, err := p.rdb.XRange(t.Context(), fmt.Sprintf("{work-%d}:stream", n), "-", "+").Result()
		require.NoError(t, err)
		for _, m := range msgs {
			all = append(all, m.Values["work"].(string))
		}
	}
	return all
}

func (p *protocol) announce(t *rapid.T) {
	one, id := p.awake(t), fmt.Sprint("n", rapid.IntRange(0, 2).Draw(t, "id"))
	if _, known := p.events[id]; !known {
		require.NoError(t, one.store.Outbox.Announce(t.Context(), event(id, "x:1")))
		p.events[id] = ""
	}
}

// notify has a replica notify of an event, whether or not another did already: it was paused, or the event was lost.
func (p *protocol) notify(t *rapid.T) {
	one, id := p.awake(t), fmt.Sprint("n", rapid.IntRange(0, 2).Draw(t, "id"))
	if rapid.Bool().Draw(t, "begin") {
		begun, err := one.store.Outbox.BeginNotify(t.Context(), "acme", id, time.Now())
		if err != nil { // it takes itself for the owner of the account
			holds := p.watch.holds()["acme"]
			require.True(t, p.flushed || holds == nil || holds.replica != one.replica, err)
			return
		}
		before, tried := p.tried[id]
		require.Equal(t, p.events[id] != "", begun.Notified)
		require.Equal(t, tried || begun.Notified, begun.Again)
		if tried && !begun.Notified {
			require.Equal(t, before.UnixMilli(), begun.First.UnixMilli())
		} else if !begun.Notified {
			p.tried[id] = time.Now()
		}
		return
	}
	double, err := one.store.Outbox.Notified(t.Context(), event(id, "x:1"), "C1", one.name, true)
	require.NoError(t, err)
	place, announced := p.events[id]
	require.Equal(t, place != "" && place != one.name, double)
	if _, tried := p.tried[id]; place == "" && (announced || tried) {
		p.events[id] = one.name
	}
}

// savePoll has any replica that ever was save what it found, as if it had its lease.
func (p *protocol) savePoll(t *rapid.T) {
	if len(p.all) == 0 {
		t.Skip("there is none")
	}
	p.savePollAs(t, rapid.SampledFrom(p.all).Draw(t, "replica"))
}

func (p *protocol) savePollAs(t *rapid.T, one *process) {
	p.writes++
	p.poll.writers[p.writes] = one
	holds := p.watch.holds()["acme"]
	err := one.store.Attacks.Save(t.Context(), "acme", record.PollUpdate{LastGood: time.UnixMilli(int64(p.writes))})
	if holds != nil && holds.replica != one.replica {
		require.Error(t, err)
	}
	if holds != nil && holds.replica == one.replica && one.resume == nil && !p.flushed && slices.Contains(p.living, one) {
		require.NoError(t, err)
	}
}

// theChange is what replicas claim.
var theChange = record.Change{ID: "c1", Account: "acme", State: record.StateBegun}

// claim claims the change, unless a replica holds it that may go on for some time.
func (p *protocol) claim(t *rapid.T) {
	one := p.awake(t)
	_, c, err := one.store.Ledger.Resume(t.Context(), theChange, false)
	switch {
	case !p.begun:
		require.ErrorIs(t, err, store.ErrEmptied)
		require.NoError(t, beginWith(t.Context(), one.store, "acme", store.Rebuilt{Epoch: store.NewEpoch()}))
		p.begun = true
	case err == nil:
		one.claim = c
		p.Cleanup(func() { c.Release(context.Background()) })
		p.change.holders = append(p.change.holders, one)
	default:
		require.ErrorIs(t, err, store.ErrClaimed)
		require.NotEmpty(t, p.change.holders)
	}
}

// save has anybody who ever claimed the change write it.
func (p *protocol) save(t *rapid.T) {
	if len(p.all) == 0 {
		t.Skip("there is none")
	}
	one := rapid.SampledFrom(p.all).Draw(t, "replica")
	if one.claim == nil {
		t.Skip("it never claimed it")
	}
	p.saveAs(t, one)
}

func (p *protocol) saveAs(t *rapid.T, one *process) {
	p.writes++
	p.change.writers[p.writes] = one
	ch := theChange
	ch.Does = strconv.Itoa(p.writes)
	_, err := one.claim.Save(t.Context(), record.Saves{Changes: []record.Change{ch}})
	if last := p.change.holders[len(p.change.holders)-1]; last != one {
		require.Error(t, err)
	}
	if err == nil {
		p.written++
	}
}

// draft has a replica read what it will write on the condition that nobody wrote since.
func (p *protocol) draft(t *rapid.T) {
	one := p.awake(t)
	if _, d, err := one.store.Ledger.Begin(t.Context(), "acme", "", false); p.begun {
		require.NoError(t, err)
		one.draft, one.drawn = d, p.written
	}
}

// saveDraft has anybody who ever read write: it holds only if nobody did since.
func (p *protocol) saveDraft(t *rapid.T) {
	one := p.awake(t)
	if one.draft == nil {
		t.Skip("it read nothing")
	}
	err := saved(one.draft.Save(t.Context(), record.Saves{Mutes: &[]record.Mute{}}))
	if p.written > one.drawn {
		require.Error(t, err)
	}
	if err == nil {
		p.written++
		one.drawn = p.written
	}
}

// late has a replica write while it is paused, perhaps for longer than its leases last, so that what it wrote arrives
// afterwards.
func (p *protocol) late(t *rapid.T) {
	one := p.awake(t)
	if h := p.watch.holds()["acme"]; h == nil || h.replica != one.replica && one.claim == nil {
		t.Skip("it may write nothing")
	}
	one.resume = one.net.Stall()
	p.savePollAs(t, one)
	if one.claim != nil {
		p.saveAs(t, one)
	}
	time.Sleep(time.Duration(rapid.IntRange(2, 9).Draw(t, "seconds")) * time.Second)
	one.resume()
	one.resume = nil
}
