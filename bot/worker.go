package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/text"
)

// worker carries out stored requests.
type worker struct {
	cfg     *Config
	answers *answers
	forms   *forms
}

// run carries out stored requests: one after another in each account, accounts side by side, so that a slow WAF API delays no other account. It
// begins no request after more has ended. It returns when those in progress are done, or held ends: then another replica continues them.
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
			return // this replica is about to lose its role
		}
		handed := time.Now()
		lanes.add(more, w.lane(req), func() {
			if more.Err() != nil || time.Since(handed) > doubtAfter && !mine(held) {
				return
			}
			if answer := w.carryOut(held, req, mine); answer != nil {
				lanes.wg.Go(func() { // Slack may be unreachable for long, which must not delay other changes
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

// lane is the account of the request's line or channel, else its actor.
func (w *worker) lane(req request) string {
	return cmp.Or(req.Invocation.Line.Keys["account"], req.Invocation.Account, req.Invocation.Actor.ID)
}

// workLimit bounds one change, including retries and verification.
const workLimit = 5 * time.Minute

// slowAfter is how long a change may take before its card shows it as in progress.
const slowAfter = time.Second

// doubtAfter is how long a change may take before this replica checks whether another one has taken it over.
const doubtAfter = 2 * time.Second

// answerFor is how long an answer is retried.
const answerFor = 10 * time.Minute

// carryOut carries out a request. It returns a function that answers it and reports whether that is done: if not, the replica that gets the
// request next answers. Nil: it was interrupted, or another replica has taken it over.
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

// awayAgain is the pause before a retry while Redis is unreachable.
const awayAgain = time.Second

// do runs a request. A request that waited so long that another replica may have begun it can't be refused while Redis is unreachable, because it
// may have been done. It is retried until Redis is back.
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

// markInProgress has the card show that a change is in progress, so that it isn't clicked again.
func (w *worker) markInProgress(ctx context.Context, req request) {
	account, attack := req.Invocation.Line.Keys["account"], req.Invocation.Line.Keys["attack"]
	if account == "" || attack == "" {
		return
	}
	if err := w.cfg.Notifier.MarkActed(ctx, account, attack); err != nil {
		w.cfg.Log.Warn("mark card", "attack", attack, "err", err)
	}
}

// failedInThread replies in the card's thread, with a mention, that a change failed at the service before it was stored: an ephemeral answer is
// easily missed. A stored change has its own event.
func (w *worker) failedInThread(ctx context.Context, req request, err error) {
	thread := cmp.Or(req.Thread, req.MessageTS)
	if !errors.Is(err, refusal.ErrService) || errors.Is(err, refusal.ErrReported) || thread == "" || req.Ephemeral || !w.cfg.Verbs.Changes(req.Invocation.Line) {
		return
	}
	words, _ := call.ForPeople(req.Invocation, err)
	msg := say(text.New(text.User(req.Invocation.Actor.ID), " ", words))
	if err := w.cfg.Notifier.Post(ctx, notify.Post{Channel: req.Channel, Thread: thread, Delivery: "failed " + req.Invocation.ID, Account: req.Invocation.Line.Keys["account"], Message: msg}); err != nil {
		w.cfg.Log.Error("reply in thread", "channel", req.Channel, "err", err)
	}
}

// lanes runs functions one after another in each lane.
type lanes struct {
	open map[string]chan func()
	wg   sync.WaitGroup
}

// laneLength is how many requests may wait in a lane before reading pauses.
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

// close waits until all lanes are empty.
func (l *lanes) close() {
	for _, lane := range l.open {
		close(lane)
	}
	l.wg.Wait()
}
