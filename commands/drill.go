package commands

import (
	"context"
	"time"
)

// Drill tries whether somebody answers a card, and how long each step takes. It never touches the service.
type Drill struct {
	ID      string        `json:"id"`
	Account string        `json:"account"`
	By      Actor         `json:"by"`
	At      time.Time     `json:"at"`              // asked
	Until   time.Time     `json:"until"`           // somebody should have answered
	Redis   time.Duration `json:"redis"`           // one round trip
	Claim   *Answered     `json:"claim,omitempty"` // nil: nobody answered
	Over    time.Time     `json:"over,omitzero"`   // it ended without an answer
	Audited int64         `json:"audited"`         // the number of its begin in the audit log; 0: it isn't known there
	Card    DrillCard     `json:"card"`
}

// Answered is who answered a drill, and when.
type Answered struct {
	By      Actor     `json:"by"`
	Clicked time.Time `json:"clicked,omitzero"` // by Slack's clock; zero: it was typed
	Taken   time.Time `json:"taken"`            // wafbot received it
	InHand  time.Time `json:"in_hand"`          // it was written down, and a replica had begun with it
}

// DrillCard is what Slack showed of a drill. Whoever tells the account's news writes it.
type DrillCard struct {
	Drill   string        `json:"drill,omitempty"` // its id; "": nothing was shown yet
	Channel string        `json:"channel,omitempty"`
	TS      string        `json:"ts,omitempty"`
	Posted  time.Time     `json:"posted,omitzero"` // Slack had it
	Found   time.Duration `json:"found,omitempty"` // it took to find it again by what it carries; 0: it wasn't found
	Fault   string        `json:"fault,omitempty"` // why not, for people
	Shown   time.Time     `json:"shown,omitzero"`  // it showed how the drill ended
}

// Waits reports whether somebody can still answer.
func (d Drill) Waits() bool { return d.ID != "" && d.Claim == nil && d.Over.IsZero() }

// Drills remembers each account's last drill.
type Drills interface {
	// Drill is the last one, with its card; the zero Drill when there was none lately.
	Drill(ctx context.Context, account string) (Drill, error)
	// Serving is how many replicas run that can post and take clicks.
	Serving(ctx context.Context) (int, error)
}

// drillFor is how long an answer is waited for where nothing else is said, and at most.
const (
	drillFor    = 5 * time.Minute
	drillAtMost = time.Hour
)

func drill() *Command {
	return &Command{
		Name: "drill", Role: Responder,
		Summary: "try whether somebody answers: a card marked DRILL, and how long each step takes; the service isn't touched",
		Example: "drill for=10m",
		Args: []Arg{
			{Name: "stop", Object: true, Help: "stop: call off the one that waits", Read: oneOf("stop")},
			{Name: "for", Help: "how long to wait for an answer, an hour at most; 5m where it is left out", Read: readDuration},
			{Name: "claim", Help: "answer the drill with that id, as the card's button does"},
		},
		Write: writeDrill,
	}
}

func writeDrill(ctx context.Context, c *Call) (Result, error) {
	asked := time.Now()
	last, err := c.cfg.Drills.Drill(ctx, c.Account.Name)
	if err != nil {
		return Result{}, Away(err)
	}
	took := time.Since(asked)
	switch {
	case c.Line.Keys["claim"] != "":
		return c.answerDrill(ctx, last)
	case len(c.Line.Words) > 0:
		return c.stopDrill(ctx, last)
	}
	id := "d" + shortHash(c.Account.Name, c.ID)
	if last.ID == id {
		return unwritten(last, Say("That drill was begun already: ", Code(id), ". Nothing more was begun")), nil
	}
	if last.Waits() {
		return Result{}, nothing(Say("A drill of ", Visible(last.By.Name, maxField), " waits already, until ", last.Until, ". ", Code("drill stop"), " calls it off. Nothing was begun"))
	}
	return c.beginDrill(ctx, Drill{ID: id, Redis: took})
}

func (c *Call) beginDrill(ctx context.Context, d Drill) (Result, error) {
	replicas, err := c.cfg.Drills.Serving(ctx)
	if err != nil {
		return Result{}, Away(err)
	}
	if replicas == 0 {
		return Result{}, nothing(Say("No ", Code("wafbot serve"), " is running on this Redis: nobody would post the card or take the click. Nothing was begun"))
	}
	lasts := drillFor
	if typed := c.Line.Keys["for"]; typed != "" {
		if lasts, err = parseDuration(typed); err != nil {
			return Result{}, err
		}
	}
	if lasts <= 0 || lasts > drillAtMost {
		return Result{}, usage(Say("A drill waits for an hour at most: write ", Code("for=5m"), ". Nothing was begun"))
	}
	d.Account, d.By, d.At, d.Until = c.Account.Name, c.Actor, c.Now, c.Now.Add(lasts)
	return c.keepDrill(ctx, d, Say(Bold("DRILL "), Code(d.ID), ": a card is on its way to the channel of ", c.Account.Name, ". It waits until ", d.Until, " for a click on ",
		Bold("I'm on it"), ", and tells then how long each step took. Nothing is attacked, and the service isn't touched"))
}

func (c *Call) answerDrill(ctx context.Context, d Drill) (Result, error) {
	switch {
	case !matchID(d.ID, c.Line.Keys["claim"]):
		return Result{}, nothing(Say("That drill is over. Nothing was changed"))
	case d.Claim != nil && d.Claim.By.ID == c.Actor.ID:
		return unwritten(d, Say("You have answered this drill already. Nothing was changed")), nil
	case d.Claim != nil:
		return Result{}, nothing(Say(Bold(Visible(d.Claim.By.Name, maxField)), " was faster: the drill is answered"))
	case !d.Waits():
		return Result{}, nothing(Say("The drill was over at ", d.Over, ". Nothing was changed"))
	}
	d.Claim = &Answered{By: c.Actor, Clicked: c.Clicked, Taken: c.At, InHand: c.Now}
	d.Audited = c.drillAudited(ctx, d)
	return c.keepDrill(ctx, d, Say("The drill has its answer: thank you. Nothing else is to be done"))
}

// stopDrill ends a drill that nobody answered. The clock does so in time.
func (c *Call) stopDrill(ctx context.Context, d Drill) (Result, error) {
	if !d.Waits() || c.Actor.Via == ViaClock && c.Now.Before(d.Until) {
		return Result{}, nothing(Say("No drill of ", c.Account.Name, " waits. Nothing was changed"))
	}
	d.Over = c.Now
	d.Audited = c.drillAudited(ctx, d)
	if c.Actor.Via == ViaClock {
		return c.keepDrill(ctx, d, Say("Nobody answered the drill ", Code(d.ID)))
	}
	return c.keepDrill(ctx, d, Say("The drill ", Code(d.ID), " is called off"))
}

func (c *Call) keepDrill(ctx context.Context, d Drill, answer Text) (Result, error) {
	if err := c.lock.SaveDrill(ctx, d); err != nil {
		return Result{}, Away(err)
	}
	c.cfg.Drilled(ctx, d)
	return written(d, answer), nil
}

// drillAudited is the number that the drill's begin has in the audit log.
func (c *Call) drillAudited(ctx context.Context, d Drill) int64 {
	entries, err := c.cfg.Audit.Entries(ctx, c.Account.Name, d.At.Add(-time.Minute))
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if e.At.Equal(d.At) && e.Actor.ID == d.By.ID && e.Outcome == "done" {
			return e.N
		}
	}
	return 0
}
