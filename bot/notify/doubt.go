package notify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// The one rule for doubtful posts: a post carries its delivery in its metadata. If it isn't known whether Slack took
// it, the message steps aside. A look into the history that finds it adopts it, at any time; only a look when the doubt
// is over may have it posted again. One reading serves all that are in doubt in a place.
const (
	verifyFirst   = time.Second      // how long after an answer it is first looked whether a message was posted
	verifyCurrent = 3 * time.Second  // after which a history that shows a message sent since the answer shows this one, too
	verifyLast    = 5 * time.Second  // after which Slack shows in a history what it posted
	arrives       = 30 * time.Second // after it was sent a request without an answer has arrived, or never will
	triesFree     = 4                // so often a delivery is sent before its pauses grow
	verifyPause   = time.Minute      // at most, between two attempts of a delivery whose outcome is never known
	readBefore    = time.Minute      // how long before a message was first tried its channel is read
	readingFor    = time.Minute      // how long a reading is kept
	everyTick     = time.Second / 2  // of a clock that all messages in doubt share: one reading serves all that are due
)

// laterError says that an event is handled again when it is due. Others of its channel go on meanwhile; later events of
// its attack wait for it.
type laterError struct {
	due    time.Time
	failed bool  // an attempt to post has just failed
	cause  error // nil: nothing failed
}

func (e *laterError) Error() string { return fmt.Sprintf("handled again later: %v", e.cause) }

// trial is what this replica knows of the attempts to post a delivery. One goroutine at a time uses it, the one that
// holds its event's subjects; the doubt is guarded by the trials' mu.
type trial struct {
	first      time.Time    // when the delivery was first tried, by any replica
	settled    time.Time    // when what another replica sent has arrived, or never will; zero: none sent it
	posted     record.Place // where it is; zero: not known
	failed     int          // how often it was sent and the outcome was not known
	unread     int          // how often in a row the history could not be read
	unanswered bool         // an attempt got no answer
	doubt      doubt
}

// doubt is the last attempt, where it may have posted: there is no other before that is known.
type doubt struct {
	in      record.Place // the channel and the thread that it was sent to; zero: no attempt is in doubt
	failed  time.Time
	looks   []time.Time // when to look whether the message is there, in order
	current time.Time   // since when a look counts that shows a later message; zero: it doesn't before the last of them
	later   string      // the first delivery that was sent since it failed, and posted; "": none
}

// looks are when to look for a message in a place. An empty history that was read at the last of them, or later, means
// that no attempt posted it there. None: no attempt can have.
func (t *trial) looks(in record.Place) (all []time.Time) {
	if t.doubt.in == in {
		all = slices.Clone(t.doubt.looks)
	}
	if !t.settled.IsZero() {
		all = append(all, t.settled)
		slices.SortFunc(all, time.Time.Compare)
	}
	return all
}

// patience is how long an answer to a post is waited for. After that it is looked for the message instead, once: Slack
// may need longer.
func (t *trial) patience() time.Duration {
	if t.unanswered {
		return slackconn.Timeout
	}
	return slackconn.Timeout / 2
}

// trials are the trials of all accounts' deliveries, and the last readings of the places that these were sent to.
type trials struct {
	slack *slackconn.Client
	begun time.Time

	mu   sync.Mutex
	all  map[delivery]*trial
	read map[record.Place]*reading
}

// delivery names a message of an account.
type delivery struct{ account, id string }

// reading is one reading of a channel or thread.
type reading struct {
	begun, oldest time.Time
	done          chan struct{}     // closed when it is
	found         map[string]string // ts of wafbot's own messages, by delivery
	err           error
}

// tick puts a time off to the next tick.
func (r *trials) tick(at time.Time) time.Time {
	return r.begun.Add((at.Sub(r.begun) + everyTick - 1).Truncate(everyTick))
}

// of is the trial of a delivery that is about to be posted. If it was tried before, and not here, another replica did:
// the last time before this one began to post, or just now where that is zero.
func (r *trials) of(d delivery, begun record.Attempt, since time.Time) *trial {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[d] == nil {
		r.all[d] = &trial{first: begun.First}
		if begun.Again {
			if since.IsZero() {
				since = time.Now()
			}
			r.all[d].settled = since.Add(slackconn.Timeout)
		}
	}
	return r.all[d]
}

// drop forgets the trial of a delivery; "": those of all of the account's.
func (r *trials) drop(account, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.all, func(d delivery, _ *trial) bool { return d.account == account && (id == "" || id == d.id) })
}

// fail notes that an attempt to post, sent at a time, may have posted. Where an answer came, Slack is done with the
// request: an empty history counts after Slack's own lag. Where none came, the request may still arrive.
func (r *trials) fail(p Post, t *trial, sent time.Time, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, arrived, answered := time.Now(), sent.Add(arrives), slackconn.Answered(err)
	pause := delay.Backoff(max(0, t.failed+1-triesFree), verifyLast, verifyPause)
	d := doubt{in: p.place(), failed: now, looks: []time.Time{now.Add(verifyFirst), now.Add(pause)}}
	switch {
	case answered && pause == verifyLast:
		d.current = now.Add(verifyCurrent)
		d.looks = slices.Insert(d.looks, 1, d.current)
	case !answered && arrived.After(d.looks[1]):
		d.looks = append(d.looks, arrived)
	}
	t.doubt, t.unanswered = d, t.unanswered || !answered
	t.failed++
	return &laterError{due: r.tick(d.looks[0]), failed: true, cause: err}
}

// posted notes that Slack confirmed a post that was sent at a time. A reading that shows it shows also what Slack had
// answered before.
func (r *trials) posted(p Post, sent time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.all {
		if d := &t.doubt; d.in == p.place() && !d.current.IsZero() && d.later == "" && d.failed.Before(sent) {
			d.later = p.Delivery
		}
	}
}

// verify looks for a message wherever an earlier attempt may have posted it: where this replica did last, where the
// post goes to, and where another replica may have posted a card that goes to another channel by now.
func (n *Notifier) verify(ctx context.Context, p Post, t *trial) (at record.Place, err error) {
	if t.posted.TS != "" {
		return t.posted, nil
	}
	to, begun := p.place(), record.Place{Channel: p.begunIn}
	for _, in := range slices.Compact([]record.Place{t.doubt.in, to, begun}) {
		if in.Channel == "" {
			continue
		}
		at, err = n.look(ctx, p.Delivery, t, in)
		if in != to && nowhere(err) {
			err = nil // what stands there can't be edited either
		}
		if at.TS != "" || err != nil {
			return at, err
		}
	}
	return at, nil
}

// look searches a place for a message that an earlier attempt may have posted. Until an empty history counts, the event
// is handled again later. Only without the scope for it, or where the channel is closed to wafbot, does it give up, and
// the message may come twice rather than never: what the channel doesn't take either goes elsewhere.
func (n *Notifier) look(ctx context.Context, id string, t *trial, in record.Place) (at record.Place, err error) {
	looks, now := t.looks(in), time.Now()
	ahead := slices.IndexFunc(looks, now.Before) // of those still to come the first
	switch {
	case len(looks) == 0:
		return at, nil
	case ahead == 0:
		return at, &laterError{due: n.tried.tick(looks[0])}
	case ahead < 0:
		ahead = len(looks)
	}
	last := looks[ahead-1]
	found, err := n.tried.history(ctx, in, t.first.Add(-readBefore), last)
	n.tried.mu.Lock()
	defer n.tried.mu.Unlock()
	d := &t.doubt
	current := found[d.later] != "" && !last.Before(d.current)
	switch name := slackconn.ErrorName(err); {
	case name == "missing_scope" || name == "channel_not_found" || name == "not_in_channel":
		n.cfg.Log.WarnContext(ctx, "can't verify whether a message was posted", "channel", in.Channel, "err", err)
	case err != nil && nowhere(err):
		return at, err
	case err != nil:
		t.unread++
		return at, &laterError{due: now.Add(delay.Backoff(t.unread-1, verifyFirst, verifyPause)), cause: err}
	case found[id] != "":
		at = record.Place{Channel: in.Channel, TS: found[id]}
	case ahead < len(looks) && !(d.in == in && current):
		return at, &laterError{due: n.tried.tick(looks[ahead])}
	}
	if t.unread = 0; d.in == in {
		*d = doubt{}
	}
	return at, nil
}

// history is what a channel or thread holds of wafbot's own messages since oldest, ts by delivery. A reading serves
// that was begun then or later, also one that goes on.
func (r *trials) history(ctx context.Context, in record.Place, oldest, begun time.Time) (map[string]string, error) {
	one, mine := r.reading(in, oldest, begun)
	if mine {
		one.found, one.err = r.readBack(ctx, in, one.oldest)
		r.mu.Lock()
		if one.err != nil { // it serves no one else
			delete(r.read, in)
		}
		r.mu.Unlock()
		close(one.done)
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-one.done:
		return one.found, one.err
	}
}

// reading is a reading that serves; mine tells that the caller has to do it. It goes back far enough for all that are
// in doubt there.
func (r *trials) reading(in record.Place, oldest, begun time.Time) (one *reading, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one = r.read[in]
	if one != nil && !one.begun.Before(begun) && !oldest.Before(one.oldest) {
		return one, false
	}
	for _, t := range r.all {
		if first := t.first.Add(-readBefore); t.doubt.in == in && first.Before(oldest) {
			oldest = first
		}
	}
	one = &reading{begun: time.Now(), oldest: oldest, done: make(chan struct{})}
	maps.DeleteFunc(r.read, func(_ record.Place, old *reading) bool { return one.begun.Sub(old.begun) > readingFor })
	r.read[in] = one
	return one, true
}

// readBack reads a channel or thread (conversations.history, conversations.replies).
func (r *trials) readBack(ctx context.Context, in record.Place, oldest time.Time) (found map[string]string, err error) {
	self, err := r.slack.Self(ctx)
	if err != nil {
		return nil, err
	}
	found = map[string]string{}
	q := slackconn.HistoryQuery{Channel: in.Channel, Thread: in.TS, Oldest: fmt.Sprintf("%d.000000", oldest.Unix())}
	for {
		msgs, next, err := r.slack.History(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("find message in %s: %w", in.Channel, apiclient.WithoutURL(err))
		}
		for _, m := range msgs {
			if id, ok := m.Metadata().EventPayload["delivery"].(string); ok && m.BotID == self.Bot {
				found[id] = m.TS
			}
		}
		if next.Cursor == "" {
			return found, nil
		}
		q = next
	}
}

// place is the channel and the thread that a post goes to.
func (p Post) place() record.Place { return record.Place{Channel: p.Channel, TS: p.Thread} }
