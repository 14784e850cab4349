package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/delay"
)

// Work carries out what was accepted: one request after another in each account, the accounts side by side, so that one whose service hangs
// keeps none of the others waiting. It begins nothing more when more ends, and returns when what is in hand is done, or held ends: what was
// not finished then another replica goes on with.
func (b *Bot) Work(held, more context.Context) error {
	lanes := lanes{open: map[string]chan func(){}}
	err := b.cfg.Inbox.Work(more, func(work []byte, mine func(context.Context) bool, done func(context.Context) error) {
		var req request
		if err := json.Unmarshal(work, &req); err != nil {
			b.cfg.Log.Error("read accepted request", "err", err)
			b.finish(held, done)
			return
		}
		if req.Version > workVersion {
			b.cfg.Log.Error("a newer wafbot accepted this request: left to it")
			return // this replica is about to learn that it is out of service
		}
		handed := time.Now()
		lanes.add(more, b.lane(req), func() {
			if more.Err() != nil || time.Since(handed) > doubtAfter && !mine(held) {
				return
			}
			if answer := b.workOff(held, req, mine); answer != nil {
				lanes.wg.Go(func() { // Slack may be away for long: that must hold up no other change
					if answer(more) {
						b.finish(held, done)
					}
				})
			}
		})
	})
	lanes.close()
	return err
}

// lane is the account that a request is about, as far as its line or its channel tells; else the one who asks.
func (b *Bot) lane(req request) string {
	return cmp.Or(req.Invocation.Line.Keys["account"], req.Invocation.Account, req.Invocation.Actor.ID)
}

// workLimit bounds one change, with its retries and the readings after an unknown outcome.
const workLimit = 5 * time.Minute

// inHand is how long a change may take before its card says that it is under way.
const inHand = time.Second

// doubtAfter is how long a change may take before it is asked whether another replica has taken it over meanwhile.
const doubtAfter = 2 * time.Second

// answerFor is how long it is tried to answer: then the world is another one.
const answerFor = 10 * time.Minute

// workOff carries a request out. It returns what answers it and reports whether that is done: who was not answered when the context ends is
// answered by the replica to which the request comes again. Nil: it was cut short, or is another replica's by now.
func (b *Bot) workOff(held context.Context, req request, mine func(context.Context) bool) (answer func(context.Context) bool) {
	run, cancel := context.WithTimeout(held, workLimit)
	defer cancel()
	slow := time.AfterFunc(inHand, func() { b.markInHand(run, req) })
	begun := time.Now()
	res, err := b.do(run, req)
	slow.Stop()
	if held.Err() != nil || time.Since(begun) > doubtAfter && !mine(held) {
		return nil
	}
	msg := b.resultMessage(req, res, err)
	return func(more context.Context) bool {
		if refused := (*refusal.Refusal)(nil); errors.Is(err, refusal.ErrAsk) && errors.As(err, &refused) && b.forms.askInView(held, req, refused) {
			return true
		}
		ctx, cancel := context.WithTimeout(held, answerFor)
		defer cancel()
		answered := b.answerUntil(ctx, more, req, msg)
		b.failedInThread(ctx, req, err)
		return answered || ctx.Err() != nil && held.Err() == nil
	}
}

// awayAgain is how long to wait before a request is tried again that came when the memory was away.
const awayAgain = time.Second

// do runs a request. While the memory is away nobody can say that one wasn't done which waited so long that another replica may have begun it,
// so that one is tried until the memory is back.
func (b *Bot) do(ctx context.Context, req request) (commands.Result, error) {
	for {
		res, err := b.cfg.Runner.Do(ctx, req.Invocation)
		if !errors.Is(err, refusal.ErrAway) || b.cfg.Now().Sub(req.Invocation.At) < doubtAfter || delay.Sleep(ctx, awayAgain) != nil {
			return res, err
		}
	}
}

func (b *Bot) finish(ctx context.Context, done func(context.Context) error) {
	if err := done(ctx); err != nil {
		b.cfg.Log.Error("finish request", "err", err)
	}
}

// markInHand has the card show that somebody's change is under way, so that nobody clicks again.
func (b *Bot) markInHand(ctx context.Context, req request) {
	account, attack := req.Invocation.Line.Keys["account"], req.Invocation.Line.Keys["attack"]
	if account == "" || attack == "" {
		return
	}
	if err := b.cfg.Notifier.MarkActed(ctx, account, attack); err != nil {
		b.cfg.Log.Warn("mark card", "attack", attack, "err", err)
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
