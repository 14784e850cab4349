package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// delivery identifies what Slack sent, over HTTP or Socket Mode.
type delivery struct {
	names []string // the same for each redelivery; the first is its id
	at    time.Time
}

// request is what somebody asks for by it. It is named by its trigger, too, which it has over either way in: Slack
// makes one for each command and each click.
func (d delivery) request(kind, trigger string, by record.Actor) request {
	req := request{Trigger: trigger, names: d.names, Invocation: call.Invocation{ID: d.names[0], At: d.at, Actor: by}}
	if trigger != "" {
		req.names = append(slices.Clip(d.names), kind+" "+trigger)
	}
	return req
}

// workVersion is the version of stored requests. A replica reads every version up to its own.
const workVersion = 1

// request is a line that a user typed or clicked, with where to answer. It is stored as JSON.
type request struct {
	call.Invocation `json:"invocation"`
	Version         int    `json:"version,omitempty"`
	Channel         string `json:"channel,omitempty"`
	MessageTS       string `json:"message_ts,omitempty"` // of the message with the button
	Thread          string `json:"thread,omitempty"`     // the thread that the line was written in
	Ephemeral       bool   `json:"ephemeral,omitempty"`  // the message with the button is ephemeral, so the answer replaces it
	ResponseURL     string `json:"response_url,omitempty"`
	Trigger         string `json:"trigger,omitempty"` // opens one view within three seconds
	View            string `json:"view,omitempty"`    // the modal that it was made in: the answer replaces it
	Home            bool   `json:"home,omitempty"`    // it was clicked in the user's Home tab, and is answered there

	names []string // of its delivery
}

// within is a context in which what is logged names the request.
func (r request) within(ctx context.Context) context.Context {
	return record.WithRequest(ctx, r.RequestID())
}

// acceptTimeout bounds what is done before a delivery is acknowledged. Slack waits three seconds.
const acceptTimeout = 2 * time.Second

// meta is the private metadata of a view that the request opens.
func (r request) meta() card.ViewMeta {
	m := card.ViewMeta{Attack: r.Attack, Account: r.Account, Channel: r.Channel, Thread: r.Thread, Answer: r.ResponseURL,
		Home: r.Home}
	if m.Thread == "" && !r.Ephemeral {
		m.Thread = r.MessageTS
	}
	return m
}

// inView makes it a request from a view, whose metadata say where the view was opened.
func (r *request) inView(id, meta string) {
	var m card.ViewMeta
	_ = json.Unmarshal([]byte(meta), &m) // metadata of an older version are empty
	r.View, r.Channel, r.Thread, r.ResponseURL, r.Ephemeral, r.Home = id, m.Channel, m.Thread, m.Answer, false, m.Home
	r.Account, r.Attack = m.Account, m.Attack
}

// How many reads run at the same time, and how many may wait.
const (
	maxReads   = 32
	maxWaiting = 1024
)

// requests takes what deliveries ask for, and answers it. A read runs in the background after it was acknowledged. A
// change is stored before it is acknowledged, so that no acknowledged click is lost; any replica carries it out.
type requests struct {
	*Config
	log      *sampledLog
	draws    chan struct{} // a place for each Home tab that is being drawn
	open     chan struct{} // one for each read that runs
	waiting  atomic.Int64
	notified sync.Map // who was notified in the last minute that a request was dropped
	wg       sync.WaitGroup

	mu sync.Mutex
	// homes are the users whose Home tabs are being drawn, each with the newest answer that came meanwhile; nil: none. A
	// drawing shows everything, so older answers are dropped: a person's clicks never start a second drawing.
	homes map[string]*reply
}

// refuseWithin is how long it may take, before a delivery is acknowledged, to find out that it is refused.
const refuseWithin = 500 * time.Millisecond

// refuses reports whether a line is surely refused for who asks it.
func (r *requests) refuses(ctx context.Context, req request) bool {
	ctx, cancel := context.WithTimeout(ctx, refuseWithin)
	defer cancel()
	return r.Runner.Refuses(ctx, req.Invocation)
}

// store stores a change, once for each delivery. If it isn't stored it returns what to say. A long line that is refused
// anyway takes no room in Redis: it is answered as a read is. A short one takes little until it is carried out, and its
// acknowledgement doesn't wait.
func (r *requests) store(ctx context.Context, req request) (failed *card.Message) {
	ctx = req.within(ctx)
	if len(req.Line.String()) > maxLogged && r.refuses(ctx, req) {
		r.read(req, nil)
		return nil
	}
	waiting, err := r.accept(ctx, req)
	switch {
	case err != nil:
		r.Log.ErrorContext(ctx, "accept request", "user", req.Actor.ID, "line", text.Cut(req.Line.String(), maxLogged),
			"err", err)
		if slackconn.DialFailed(err) || refusal.TroubleOf(err).Answered {
			return new(say(refusal.Away(err).Text))
		}
		return new(perhapsStored())
	case waiting > 0:
		r.log.warn(ctx, "too many requests of one person at once", "user", req.Actor.ID)
		return new(say("Not done: ", waiting, " of your lines wait already, and one is carried out after another. Send it again when they are answered"))
	}
	return nil
}

// accept writes a request down.
func (r *requests) accept(ctx context.Context, req request) (waiting int, err error) {
	req.Version = workVersion
	work, err := json.Marshal(req)
	if err == nil {
		_, waiting, err = r.Inbox.Accept(ctx, work, r.laneOf(req), req.names...)
	}
	return waiting, err
}

// laneOf is what a request must keep its order in: the person's lines on one account.
func (c *Config) laneOf(req request) record.Lane {
	return record.Lane{Account: c.accountOf(req), Team: req.Actor.Team, User: req.Actor.ID}
}

func (c *Config) hasAccount(name string) bool {
	return slices.ContainsFunc(c.Accounts, func(a notify.Account) bool { return a.Name == name })
}

// accountOf is the account that a line is about, as far as it says. Lines without an account are alike, as are those
// that name one that isn't there, so that nobody makes names at will, and all where there is one account alone.
func (c *Config) accountOf(req request) string {
	account := cmp.Or(req.Line.Keys["account"], req.Account)
	if len(c.Accounts) == 1 || !c.hasAccount(account) {
		return ""
	}
	return account
}

// maxLogged is how many characters of a line are logged.
const maxLogged = 500

// perhapsStored says that whether a request was stored is unknown.
func perhapsStored() card.Message {
	return say("perhaps not recorded: wafbot's store (Redis) did not answer in time. If nothing has changed in 30 s, click or type it again: it is never done twice")
}

// reply is what is answered to a request.
type reply struct {
	to  request
	msg card.Message
}

// read carries out a line that changes nothing; why it can't be read, if it can't. What is no line is answered with
// that, if the person may read how lines are written; else help is refused, and recorded. Anybody could have all
// answered that is no line.
func (r *requests) read(req request, why error) {
	r.once(req, func(ctx context.Context) *reply {
		res, err := call.Result{}, why
		if why == nil {
			res, err = r.Runner.Do(ctx, req.Invocation)
		}
		if why != nil || errors.Is(err, refusal.ErrUnknown) {
			help := req.Invocation
			help.Line = record.Line{Name: "help"}
			err = cmp.Or(r.Runner.May(ctx, help), err)
		}
		return r.replyTo(req, res, err)
	})
}

// replyTo is what is answered to a line that changes nothing; nil: nothing is.
func (r *requests) replyTo(req request, res call.Result, err error) *reply {
	if errors.Is(err, refusal.ErrUnanswered) {
		return nil
	}
	return &reply{req, r.resultMessage(req, res, err)}
}

// reply answers a request without running a line.
func (r *requests) reply(req request, msg card.Message) {
	r.once(req, func(context.Context) *reply { return &reply{req, msg} })
}

// answerLater answers a request whose delivery was handled already.
func (r *requests) answerLater(req request, msg card.Message) {
	r.start(req, func(context.Context) *reply { return &reply{req, msg} })
}

// Drain waits for the answers that are still being looked up, for at most as long as the context lasts.
func (r *requests) Drain(ctx context.Context) {
	done := make(chan struct{})
	go func() { r.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// readTimeout bounds a read and its answer.
const readTimeout = 90 * time.Second

// start continues a request after it was acknowledged, when it is its turn, and answers it. If too many wait, it is
// dropped. An answer that Slack doesn't take holds no turn.
func (r *requests) start(req request, do func(ctx context.Context) *reply) {
	if r.waiting.Add(1) > maxWaiting {
		r.waiting.Add(-1)
		r.drop(req)
		return
	}
	r.wg.Go(func() {
		defer r.waiting.Add(-1)
		r.open <- struct{}{}
		ctx, cancel := context.WithTimeout(req.within(context.Background()), readTimeout)
		defer cancel()
		var made *reply
		if !delay.Run(r.Log, "a request", func() { made = do(ctx) }) {
			made = &reply{req, say("Failed: that is a fault of wafbot's, and its log says where")}
		}
		<-r.open
		switch {
		case made == nil:
		case made.to.Home && made.to.View == "":
			r.answerHome(made)
		default:
			r.deliver(ctx, made)
		}
	})
}

// deliver answers a request.
func (r *requests) deliver(ctx context.Context, made *reply) {
	delay.Run(r.Log, "an answer", func() { r.answer(ctx, ctx, made.to, made.msg) })
}

// Who is notified that a request was dropped: a person once in a minute.
const (
	notifiedAgain = time.Minute
	notifyWithin  = 10 * time.Second
)

// drop drops a request for which there is no room, and notifies who asked, who would wait for an answer. That is tried
// once.
func (r *requests) drop(req request) {
	r.Metrics.DroppedReads.Inc()
	r.log.warn(req.within(context.Background()), "too many requests at once", "user", req.Actor.ID)
	who := [2]string{req.Actor.Team, req.Actor.ID}
	if _, lately := r.notified.LoadOrStore(who, nil); lately {
		return
	}
	time.AfterFunc(notifiedAgain, func() { r.notified.Delete(who) })
	r.wg.Go(func() {
		ctx, cancel := context.WithTimeout(req.within(context.Background()), notifyWithin)
		defer cancel()
		delay.Run(r.Log, "an answer", func() {
			r.send(ctx, req, say("Not done: too many requests are under way. Send it again in a minute; ",
				"until then others of yours may be dropped without a word"))
		})
	})
}

// once runs a read for a delivery that comes for the first time. If that is unknown, it runs, too.
func (r *requests) once(req request, do func(ctx context.Context) *reply) {
	r.start(req, func(ctx context.Context) *reply {
		if fresh, err := r.Inbox.First(ctx, req.Actor.ID, req.names...); fresh || err != nil {
			return do(ctx)
		}
		return nil
	})
}

// answerHome answers in a user's Home tab, unless it is being drawn: then this is drawn next.
func (r *requests) answerHome(made *reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	user := made.to.Actor.ID
	if _, drawn := r.homes[user]; drawn {
		r.homes[user] = made
		return
	}
	for ; made != nil; made = r.homes[user] {
		r.homes[user] = nil
		r.mu.Unlock()
		ctx, cancel := context.WithTimeout(made.to.within(context.Background()), readTimeout)
		r.deliver(ctx, made)
		cancel()
		r.mu.Lock()
	}
	delete(r.homes, user)
}
