package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/text"
)

// How many stored requests a replica carries out at a time, below 100 kB each with its connection to the service; how
// many of one account, so that one whose service hangs leaves room for the others; and how many of one person on it
// before that person's next line waits until one is carried out. Further requests wait for their turn.
const (
	maxInHand    = 1024
	maxOfAccount = maxInHand / 4
	maxOfPerson  = 32
	maxHeld      = 4 * maxInHand // that wait for their turn here; more than that others may take
)

// worker carries out stored requests.
type worker struct {
	*ingress
	all       sync.WaitGroup
	held      chan struct{}            // one for each request that was handed over
	turns     chan struct{}            // one for each that is carried out
	shares    map[string]chan struct{} // one for each that is carried out, by account
	answering atomic.Int64             // requests that were carried out, and whose answer is on its way

	mu    sync.Mutex
	lanes map[record.Lane]int // how many are carried out of each
}

func newWorker(in *ingress) *worker {
	w := &worker{
		ingress: in, held: make(chan struct{}, maxHeld), turns: make(chan struct{}, maxInHand), lanes: map[record.Lane]int{},
		shares: map[string]chan struct{}{"": make(chan struct{}, maxOfAccount)},
	}
	for _, a := range in.Accounts {
		w.shares[a.Name] = make(chan struct{}, maxOfAccount)
	}
	return w
}

// count notes that so many more requests of a lane are carried out, and returns how many are.
func (w *worker) count(lane record.Lane, more int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.lanes[lane] + more
	if w.lanes[lane] = n; n == 0 {
		delete(w.lanes, lane)
	}
	return n
}

// work is a request that was handed over.
type work struct {
	request
	piece Piece
	at    time.Time // since when this replica has it
	leave func()    // ends its turn
}

// Work carries out stored requests: one person's on one account in order, all others side by side. It begins no request
// after more has ended, and returns when those in progress are done, or held ends: then another replica continues them.
func (s *Server) Work(held, more context.Context) error {
	err := s.Inbox.Work(more, func(p Piece) {
		one := work{piece: p, at: time.Now()}
		if err := json.Unmarshal(p.Work(), &one.request); err != nil {
			s.Log.ErrorContext(held, "read accepted request", "err", err)
			_ = p.Done(held) // else another replica finds the same
			return
		}
		select {
		case <-more.Done():
		case s.worker.held <- struct{}{}:
			s.worker.all.Go(func() {
				defer func() { <-s.worker.held }()
				s.worker.take(held, more, one)
			})
		}
	})
	s.worker.all.Wait()
	return err
}

// take carries out a request when it is its account's turn, all that are handed over side by side: the inbox keeps the
// order.
func (w *worker) take(held, more context.Context, one work) {
	share := w.shares[w.accountOf(one.request)]
	share <- struct{}{}
	w.turns <- struct{}{}
	one.leave = sync.OnceFunc(func() { <-w.turns; <-share })
	defer one.leave()
	if more.Err() == nil && (time.Since(one.at) < doubtAfter || one.piece.Mine(held)) {
		delay.RunAgain(more, w.Log, "a change", func() { w.handOver(held, more, one) })
	}
}

// handOver carries out and answers a request that was handed over.
func (w *worker) handOver(held, more context.Context, one work) {
	held, more = one.within(held), one.within(more)
	if one.Version > workVersion {
		w.Log.ErrorContext(held, "a newer wafbot accepted this request: left to it")
		return // this replica is about to lose its role
	}
	if w.carryOut(held, more, one) {
		if err := one.piece.Done(held); err != nil {
			w.Log.ErrorContext(held, "finish request", "err", err)
		}
	}
}

// workLimit bounds one change, including retries and verification.
const workLimit = 5 * time.Minute

// slowAfter is how long a change may take before its card shows it as in progress.
const slowAfter = time.Second

// doubtAfter is how long a change may take before this replica checks whether another one has taken it over.
const doubtAfter = 2 * time.Second

// How long an answer is retried; and where so many are that Slack doesn't take, for how long the others are.
const (
	answerFor    = 10 * time.Minute
	maxAnswering = 1024
)

// carryOut carries out a request and answers it. It reports whether that is done: if not, it was interrupted, and the
// replica that gets the request next goes on, or another one has taken it over.
func (w *worker) carryOut(held, more context.Context, one work) (done bool) {
	var passing sync.WaitGroup
	undone, end := context.WithCancel(held)
	defer passing.Wait()
	defer end()
	req, p, lane := one.request, one.piece, w.laneOf(one.request)
	pass := sync.OnceFunc(func() {
		passing.Go(func() {
			if delay.Sleep(undone, passAfter) == nil {
				_ = p.Pass(undone) // it fails only when that ends, and then Done passes the turn, here or where the line is taken over
			}
		})
	})
	crowded := w.count(lane, 1) >= maxOfPerson
	req.Begun = func() {
		if !crowded {
			pass()
		}
	}

	begun := time.Now()
	res, err := w.do(held, req, p)
	w.count(lane, -1)
	if held.Err() != nil || time.Since(begun) > doubtAfter && !p.Mine(held) {
		return false
	}
	pass() // Slack may be unreachable for long, which must not hold the next line up
	one.leave()
	return w.finish(held, more, req, res, err)
}

// finish answers a request that was carried out. It reports whether that is done.
func (w *worker) finish(held, more context.Context, req request, res call.Result, err error) (done bool) {
	if errors.Is(err, refusal.ErrUnanswered) {
		return true
	}
	refused, ok := errors.AsType[*refusal.Refusal](err)
	if ok && errors.Is(err, refusal.ErrAsk) && w.askInView(held, req, refused) {
		return true
	}
	limit := answerFor
	if w.answering.Add(1) > maxAnswering {
		limit = notifyWithin
	}
	defer w.answering.Add(-1)
	ctx, cancel := context.WithTimeout(held, limit)
	defer cancel()
	answered := w.answer(ctx, more, req, w.resultMessage(req, res, err))
	w.failedInThread(ctx, req, err)
	return answered || ctx.Err() != nil && held.Err() == nil
}

// passAfter is how long the next line of the same person waits at most when this one is carried out or surely will be.
// Most are done by then, which passes the turn too, without a round trip of its own.
const passAfter = 50 * time.Millisecond

// awayAgain is the pause before a retry while Redis is unreachable.
const awayAgain = time.Second

// do runs a request. A request that waited so long that another replica may have begun it can't be refused while Redis
// is unreachable, because it may have been done. It is retried until Redis is back; an emptied one knows no more of it
// however long that takes.
func (w *worker) do(held context.Context, req request, p Piece) (call.Result, error) {
	ctx, cancel := context.WithTimeout(held, workLimit)
	defer cancel()
	req, ends := w.keepCompany(ctx, req, p)
	defer ends()
	slow := time.AfterFunc(slowAfter, func() { w.markInProgress(ctx, req) })
	defer slow.Stop()
	for {
		res, err := w.Runner.Do(ctx, req.Invocation)
		if !errors.Is(err, refusal.ErrAway) || errors.Is(err, store.ErrEmptied) || w.Clocks.Now().Sub(req.At) < doubtAfter ||
			delay.Sleep(ctx, awayAgain) != nil {
			return res, err
		}
	}
}

// stillAfter is how long a person waits for the outcome of a press before an answer says that wafbot is still trying.
const stillAfter = 3 * time.Second

// keepCompany tells who asked that wafbot is still trying, once, unless the card shows by then what was sent, or
// another replica has the request. It returns the request to carry out, and a function that waits, so that the outcome
// comes after it.
func (w *worker) keepCompany(ctx context.Context, req request, p Piece) (watched request, ends func()) {
	ctx, cancel := context.WithCancel(ctx)
	var telling sync.WaitGroup
	var shown atomic.Bool
	inv := req.Invocation
	watched = req
	watched.Invocation.Begun = func() {
		shown.Store(inv.Line.Keys["attack"] != "")
		inv.Begun()
	}
	wait := max(doubtAfter, stillAfter-w.Clocks.Now().Sub(inv.At))
	telling.Go(func() {
		delay.Run(w.Log, "a wait", func() {
			if delay.Sleep(ctx, wait) == nil && !shown.Load() && inv.Actor.Via != record.ViaPager && p.Mine(ctx) {
				line := text.Code(text.Cut(inv.Line.String(), maxLogged))
				w.send(ctx, req, say(text.Newf("*Still trying*: %v. You get the outcome as soon as it's known", line)))
			}
		})
	})
	return watched, func() { cancel(); telling.Wait() }
}

// markInProgress has the card show that a change is in progress, so that it isn't clicked again.
func (w *worker) markInProgress(ctx context.Context, req request) {
	account, attack := req.Line.Keys["account"], req.Line.Keys["attack"]
	if account == "" || attack == "" {
		return
	}
	if err := w.Notifier.MarkActed(ctx, account, attack); err != nil {
		w.Log.WarnContext(ctx, "mark card", "attack", attack, "err", err)
	}
}

// failedInThread replies in the card's thread, with a mention, that a change failed at the service before it was
// stored: an ephemeral answer is easily missed. A stored change has its own event.
func (w *worker) failedInThread(ctx context.Context, req request, err error) {
	thread := cmp.Or(req.Thread, req.MessageTS)
	if !errors.Is(err, refusal.ErrService) || errors.Is(err, refusal.ErrReported) || thread == "" || req.Ephemeral ||
		!w.Verbs.Changes(req.Line) {
		return
	}
	words, _ := call.ForPeople(req.Invocation, err)
	msg := say(text.User(req.Actor.ID), " ", words)
	if err := w.Notifier.Post(ctx, notify.Post{Channel: req.Channel, Thread: thread, Delivery: "failed " + req.ID,
		Account: req.Line.Keys["account"], Message: msg}); err != nil {
		w.Log.ErrorContext(ctx, "reply in thread", "channel", req.Channel, "err", err)
	}
}
