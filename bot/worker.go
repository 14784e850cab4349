package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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

// run carries out stored requests, all that are handed over side by side: the inbox keeps the order. It begins no request after more has ended. It
// returns when those in progress are done, or held ends: then another replica continues them.
func (w *worker) run(held, more context.Context) error {
	var inHand errgroup.Group
	inHand.SetLimit(maxInHand)
	err := w.cfg.Inbox.Work(more, func(p Piece) {
		handed := time.Now()
		inHand.Go(func() error {
			if more.Err() == nil && (time.Since(handed) < doubtAfter || p.Mine(held)) {
				w.handle(held, more, p)
			}
			return nil
		})
	})
	_ = inHand.Wait() // it has none: each piece answers for itself
	return err
}

// handle carries out and answers a request that was handed over.
func (w *worker) handle(held, more context.Context, p Piece) {
	var req request
	err := json.Unmarshal(p.Work(), &req)
	switch {
	case err != nil:
		w.cfg.Log.Error("read accepted request", "err", err)
	case req.Version > workVersion:
		w.cfg.Log.Error("a newer wafbot accepted this request: left to it")
		return // this replica is about to lose its role
	case !w.carryOut(held, more, req, p):
		return
	}
	if err := p.Done(held); err != nil {
		w.cfg.Log.Error("finish request", "err", err)
	}
}

// maxInHand is how many requests a replica carries out and answers at a time, below 100 kB each with its connection to the service; the others wait in Redis
// or are other replicas'. An account whose service hangs holds one line of each person for workLimit, and those whose change is stored; a line whose answer
// Slack doesn't take is held for answerFor. So it takes 1,024 people, or nearly two lines a second for ten minutes, to fill it.
const maxInHand = 1024

// workLimit bounds one change, including retries and verification.
const workLimit = 5 * time.Minute

// slowAfter is how long a change may take before its card shows it as in progress.
const slowAfter = time.Second

// doubtAfter is how long a change may take before this replica checks whether another one has taken it over.
const doubtAfter = 2 * time.Second

// answerFor is how long an answer is retried.
const answerFor = 10 * time.Minute

// carryOut carries out a request and answers it. It reports whether that is done: if not, it was interrupted, and the replica that gets the request next
// goes on, or another one has taken it over.
func (w *worker) carryOut(held, more context.Context, req request, p Piece) (done bool) {
	var passing sync.WaitGroup
	undone, end := context.WithCancel(held)
	defer passing.Wait()
	defer end()
	req.Invocation.Begun = sync.OnceFunc(func() { passing.Go(func() { passSoon(undone, p) }) })

	begun := time.Now()
	res, err := w.do(held, req)
	if held.Err() != nil || time.Since(begun) > doubtAfter && !p.Mine(held) {
		return false
	}
	req.Invocation.Begun() // Slack may be unreachable for long, which must not hold the next line up
	if refused := (*refusal.Refusal)(nil); errors.Is(err, refusal.ErrAsk) && errors.As(err, &refused) && w.forms.askInView(held, req, refused) {
		return true
	}
	ctx, cancel := context.WithTimeout(held, answerFor)
	defer cancel()
	answered := w.answers.answerUntil(ctx, more, req, w.answers.resultMessage(req, res, err))
	w.failedInThread(ctx, req, err)
	return answered || ctx.Err() != nil && held.Err() == nil
}

// passAfter is how long the next line of the same person waits at most when this one is carried out or surely will be. Most are done by then, which passes the
// turn too, without a round trip of its own.
const passAfter = 50 * time.Millisecond

// passSoon passes the turn unless the context ends before, because the line is done.
func passSoon(undone context.Context, p Piece) {
	if delay.Sleep(undone, passAfter) == nil {
		_ = p.Pass(undone) // it fails only when that ends, and then Done passes the turn, here or where the line is taken over
	}
}

// awayAgain is the pause before a retry while Redis is unreachable.
const awayAgain = time.Second

// do runs a request. A request that waited so long that another replica may have begun it can't be refused while Redis is unreachable, because it
// may have been done. It is retried until Redis is back.
func (w *worker) do(held context.Context, req request) (call.Result, error) {
	ctx, cancel := context.WithTimeout(held, workLimit)
	defer cancel()
	slow := time.AfterFunc(slowAfter, func() { w.markInProgress(ctx, req) })
	defer slow.Stop()
	for {
		res, err := w.cfg.Runner.Do(ctx, req.Invocation)
		if !errors.Is(err, refusal.ErrAway) || w.cfg.Clocks.Now().Sub(req.Invocation.At) < doubtAfter || delay.Sleep(ctx, awayAgain) != nil {
			return res, err
		}
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
