package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/text"
)

// worker carries out what was accepted.
type worker struct {
	cfg     *Config
	answers *answers
	forms   *forms
	cards   cards
}

// cards shows what becomes of a change where everybody sees it.
type cards interface {
	MarkActed(ctx context.Context, account, attack string) error
	Post(ctx context.Context, p notify.Post) error
}

// run carries out what was accepted: one request after another in each account, the accounts side by side, so that one whose service hangs
// keeps none of the others waiting. It begins nothing more when more ends, and returns when what is in hand is done, or held ends: what was
// not finished then another replica goes on with.
func (w *worker) run(held, more context.Context) error {
	lanes := lanes{open: map[string]chan func(){}}
	err := w.cfg.Inbox.Work(more, func(work []byte, mine func(context.Context) bool, done func(context.Context) error) {
		var req request
		if err := json.Unmarshal(work, &req); err != nil {
			w.cfg.Log.Error("read accepted request", "err", err)
			w.finish(held, done)
			return
		}
		if req.Version > workVersion {
			w.cfg.Log.Error("a newer wafbot accepted this request: left to it")
			return // this replica is about to learn that it is out of service
		}
		handed := time.Now()
		lanes.add(more, w.lane(req), func() {
			if more.Err() != nil || time.Since(handed) > doubtAfter && !mine(held) {
				return
			}
			if answer := w.carryOut(held, req, mine); answer != nil {
				lanes.wg.Go(func() { // Slack may be away for long: that must hold up no other change
					if answer(more) {
						w.finish(held, done)
					}
				})
			}
		})
	})
	lanes.close()
	return err
}

// lane is the account that a request is about, as far as its line or its channel tells; else the one who asks.
func (w *worker) lane(req request) string {
	return cmp.Or(req.Invocation.Line.Keys["account"], req.Invocation.Account, req.Invocation.Actor.ID)
}

// workLimit bounds one change, with its retries and the readings after an unknown outcome.
const workLimit = 5 * time.Minute

// inHand is how long a change may take before its card says that it is under way.
const slowAfter = time.Second

// doubtAfter is how long a change may take before it is asked whether another replica has taken it over meanwhile.
const doubtAfter = 2 * time.Second

// answerFor is how long it is tried to answer: then the world is another one.
const answerFor = 10 * time.Minute

// workOff carries a request out. It returns what answers it and reports whether that is done: who was not answered when the context ends is
// answered by the replica to which the request comes again. Nil: it was cut short, or is another replica's by now.
func (w *worker) carryOut(held context.Context, req request, mine func(context.Context) bool) (answer func(context.Context) bool) {
	run, cancel := context.WithTimeout(held, workLimit)
	defer cancel()
	slow := time.AfterFunc(slowAfter, func() { w.markInProgress(run, req) })
	begun := time.Now()
	res, err := w.do(run, req)
	slow.Stop()
	if held.Err() != nil || time.Since(begun) > doubtAfter && !mine(held) {
		return nil
	}
	msg := w.answers.resultMessage(req, res, err)
	return func(more context.Context) bool {
		if refused := (*refusal.Refusal)(nil); errors.Is(err, refusal.ErrAsk) && errors.As(err, &refused) && w.forms.askInView(held, req, refused) {
			return true
		}
		ctx, cancel := context.WithTimeout(held, answerFor)
		defer cancel()
		answered := w.answers.answerUntil(ctx, more, req, msg)
		w.failedInThread(ctx, req, err)
		return answered || ctx.Err() != nil && held.Err() == nil
	}
}

// awayAgain is how long to wait before a request is tried again that came when the memory was away.
const awayAgain = time.Second

// do runs a request. While the memory is away nobody can say that one wasn't done which waited so long that another replica may have begun it,
// so that one is tried until the memory is back.
func (w *worker) do(ctx context.Context, req request) (call.Result, error) {
	for {
		res, err := w.cfg.Runner.Do(ctx, req.Invocation)
		if !errors.Is(err, refusal.ErrAway) || w.cfg.Now().Sub(req.Invocation.At) < doubtAfter || delay.Sleep(ctx, awayAgain) != nil {
			return res, err
		}
	}
}

func (w *worker) finish(ctx context.Context, done func(context.Context) error) {
	if err := done(ctx); err != nil {
		w.cfg.Log.Error("finish request", "err", err)
	}
}

// markInHand has the card show that somebody's change is under way, so that nobody clicks again.
func (w *worker) markInProgress(ctx context.Context, req request) {
	account, attack := req.Invocation.Line.Keys["account"], req.Invocation.Line.Keys["attack"]
	if account == "" || attack == "" {
		return
	}
	if err := w.cards.MarkActed(ctx, account, attack); err != nil {
		w.cfg.Log.Warn("mark card", "attack", attack, "err", err)
	}
}

// failedInThread tells in the thread of the card, with a mention, that a change failed at the service before it was begun: an answer that only one
// person sees for a moment is easily missed. Of one that was written down its announcement tells.
func (w *worker) failedInThread(ctx context.Context, req request, err error) {
	thread := cmp.Or(req.Thread, req.MessageTS)
	if !errors.Is(err, refusal.ErrService) || errors.Is(err, refusal.ErrTold) || thread == "" || req.Ephemeral || !w.cfg.Verbs.Changes(req.Invocation.Line) {
		return
	}
	words, _ := call.ForPeople(req.Invocation, err)
	msg := card.Lines([]text.Text{text.New(text.User(req.Invocation.Actor.ID), " ", words)}, nil)
	if err := w.cards.Post(ctx, notify.Post{Channel: req.Channel, Thread: thread, Delivery: "failed " + req.Invocation.ID, Account: req.Invocation.Line.Keys["account"], Message: msg}); err != nil {
		w.cfg.Log.Error("reply in thread", "channel", req.Channel, "err", err)
	}
}

// lanes run functions one after another in each lane.
type lanes struct {
	open map[string]chan func()
	wg   sync.WaitGroup
}

// laneLength is how many requests may wait in one account before reading on waits too.
const laneLength = 256

func (l *lanes) add(ctx context.Context, name string, do func()) {
	lane, ok := l.open[name]
	if !ok {
		lane = make(chan func(), laneLength)
		l.open[name] = lane
		l.wg.Go(func() {
			for do := range lane {
				do()
			}
		})
	}
	select {
	case lane <- do:
	case <-ctx.Done():
	}
}

// close waits until every lane is empty.
func (l *lanes) close() {
	for _, lane := range l.open {
		close(lane)
	}
	l.wg.Wait()
}
