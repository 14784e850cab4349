package commands

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Request is a change that waits for a second person.
type Request struct {
	ID        string       `json:"id"`
	Account   string       `json:"account"`
	Line      Line         `json:"line"`             // canonical, with everything filled in, without the account
	Does      string       `json:"does"`             // in words
	Needs     []Second     `json:"needs"`            // why one person alone may not
	AttackID  string       `json:"attack,omitempty"` // what it is for, as AttackID makes it
	Role      Role         `json:"role"`             // that the second person needs
	Asker     Actor        `json:"asker"`
	Reason    string       `json:"reason,omitempty"` // as the asker gave it
	At        time.Time    `json:"at"`
	Until     time.Time    `json:"until"`              // it can be decided before then
	AloneAt   time.Time    `json:"alone_at,omitzero"`  // from then on the asker may do it alone; zero: never
	Opened    bool         `json:"opened,omitempty"`   // that time has come, and the card says so
	Reach     []string     `json:"reach,omitempty"`    // for people: whom it hits, and what else there is to know
	Warnings  []string     `json:"warnings,omitempty"` // for people: what speaks against it
	Premise   Premise      `json:"premise"`
	State     RequestState `json:"state"`
	Decided   *Actor       `json:"decided,omitempty"`
	DecidedAt time.Time    `json:"decided_at,omitzero"`
	Delivery  string       `json:"delivery,omitempty"` // of the decision: the same again goes on with it
	Outcome   string       `json:"outcome,omitempty"`  // of carrying it out, as Result has it, or failed; "": not done, or in hand
	Why       string       `json:"why,omitempty"`      // for people: why it was rejected, closed or done alone
	Fault     string       `json:"fault,omitempty"`    // for people: that it was not done, and why
	Revision  int          `json:"revision"`           // counts what was written down of it
}

// Second is one thing for which a policy wants a second person.
type Second struct {
	What string `json:"what"` // SecondForever and the like
	Why  string `json:"why"`  // for people
}

// RequestState is what became of a request.
type RequestState string

// The states of a request. One whose time is over can still say that it waits: Waits tells.
const (
	RequestWaiting  RequestState = "waiting"
	RequestApproved RequestState = "approved"
	RequestRejected RequestState = "rejected"
	RequestClosed   RequestState = "closed"  // what it was based on no longer held, or it could not be carried out in time
	RequestExpired  RequestState = "expired" // nobody answered
	RequestAlone    RequestState = "alone"   // nobody answered, and the asker did it alone
)

// Waits reports whether a second person can still decide.
func (r Request) Waits(now time.Time) bool {
	return r.State == RequestWaiting && now.Before(r.Until)
}

// InHand reports whether it was decided to do it and nobody has written down yet what came of that.
func (r Request) InHand() bool {
	return (r.State == RequestApproved || r.State == RequestAlone) && r.Outcome == ""
}

// DueAt is when wafbot has to look at the request by itself: when the asker may do it alone, when its time is over, or when it must have been
// carried out; zero for never.
func (r Request) DueAt() time.Time {
	switch {
	case r.InHand():
		return r.DecidedAt.Add(stale)
	case r.State != RequestWaiting:
		return time.Time{}
	case !r.AloneAt.IsZero() && !r.Opened:
		return r.AloneAt
	}
	return r.Until
}

// Requests remembers what waits for a second person.
type Requests interface {
	// Requests are the account's, the newest first, also those decided lately.
	Requests(ctx context.Context, account string) ([]Request, error)
}

// waits reports whether the plans do anything for which a second person is needed who was not asked yet.
func (c *Call) waits(plans []Plan) bool {
	return len(c.needs) > 0 && c.granted == nil && !c.renews(plans) && c.cfg.Policy.Changes == ChangesOn && slices.ContainsFunc(plans, func(p Plan) bool {
		return len(p.Nothing) == 0 && !slices.ContainsFunc(c.Known, func(ch Change) bool { return c.sameNow(ch, p) })
	})
}

// renews reports whether wafbot only prolongs, as far as it was said to, what a second person has approved.
func (c *Call) renews(plans []Plan) bool {
	return c.Actor.Via == ViaClock && !slices.ContainsFunc(plans, func(p Plan) bool {
		return !slices.ContainsFunc(c.Known, func(ch Change) bool {
			return ch.ID == p.Extends && ch.Approved != nil && !p.Until.IsZero() && !p.Until.After(ch.Renew)
		})
	})
}

// request writes down what waits for a second person. Nothing is sent. The same that waits already is met.
func (r *Runner) request(ctx context.Context, c *Call, plans []Plan) (Result, error) {
	if c.Actor.Via == ViaClock {
		return Result{}, &Refusal{Kind: ErrNeedsSecond, Text: Say(c.whySecond(), ": that needs a second person, whom wafbot doesn't ask for by itself. Nothing was done")}
	}
	q := c.newRequest(plans)
	all, err := r.cfg.Requests.Requests(ctx, c.Account.Name)
	if err != nil {
		return Result{}, Away(err)
	}
	if i := slices.IndexFunc(all, func(have Request) bool {
		return have.ID == q.ID || have.Waits(c.Now) && effect(have.Line) == effect(q.Line) && have.Does == q.Does
	}); i >= 0 {
		return c.requested(all[i]), nil
	}
	entry := c.requestEntry(q, string(RequestWaiting))
	for _, need := range q.Needs {
		entry.Why = joinWords(entry.Why, need.Why)
	}
	for _, p := range plans {
		for _, s := range p.Steps {
			entry.After = append(entry.After, s.describe())
		}
	}
	if err := c.saveRequest(ctx, &entry, &q); err != nil {
		return Result{}, Away(err)
	}
	return c.requested(q), nil
}

// askedBefore is the answer to a delivery that came before, and was written down as a request.
func (r *Runner) askedBefore(ctx context.Context, c *Call) (res Result, ok bool) {
	all, err := r.cfg.Requests.Requests(ctx, c.Account.Name)
	if err != nil {
		return Result{}, false
	}
	i := slices.IndexFunc(all, func(q Request) bool { return q.ID == requestID(c.Account.Name, c.ID) })
	if i < 0 {
		return Result{}, false
	}
	return c.requested(all[i]), true
}

// requested is the answer of a request.
func (c *Call) requested(q Request) Result {
	return Result{Outcome: string(RequestWaiting), Lines: c.waitingLines(q), AttackID: q.AttackID, Account: q.Account, Data: q}
}

// newRequest is what is written down of a change that needs a second person.
func (c *Call) newRequest(plans []Plan) Request {
	now := c.Now.Truncate(time.Second).UTC() // Redis wakes at whole seconds
	q := Request{
		ID: requestID(c.Account.Name, c.ID), Account: c.Account.Name, Line: c.Line, Needs: c.needs, Role: c.Cmd.Role, Asker: c.Actor, Reason: c.Line.Keys["reason"],
		At: now, Until: now.Add(c.cfg.Policy.approvalFor()), Premise: premiseOf(plans), State: RequestWaiting,
		Does: doesOf(plans),
	}
	if len(plans) == 1 {
		q.Line = plans[0].Line
	}
	if c.Attack != nil {
		q.AttackID = c.Attack.ID
	}
	for _, p := range plans {
		if len(p.Nothing) > 0 {
			continue
		}
		q.Role = max(q.Role, p.Role)
		for _, s := range p.Steps {
			q.reaches(c.Account.reach(s))
		}
		if p.Until.Before(p.Renews) {
			q.Reach = append(q.Reach, "it is prolonged while it knocks, for "+HumanDuration(p.Renews.Sub(now))+" at most")
		}
		for _, n := range p.Notes {
			q.Reach = append(q.Reach, n.String())
		}
		for _, w := range p.Warnings {
			q.Warnings = append(q.Warnings, w.Text.String())
		}
	}
	if after := c.cfg.Policy.Alone.After; after > 0 && after < c.cfg.Policy.approvalFor() && q.neverAlone() == "" {
		q.AloneAt = now.Add(after)
	}
	return q
}

// reaches adds whom it hits, unless that is said already.
func (r *Request) reaches(whom string) {
	said := func(n Second) bool {
		return n.What == SecondBroad && strings.Contains(n.Why, neverVisitors) && strings.Contains(whom, neverVisitors)
	}
	if whom != "" && !slices.Contains(r.Reach, whom) && !slices.ContainsFunc(r.Needs, said) {
		r.Reach = append(r.Reach, whom)
	}
}

// saveRequest outlives the caller: what was decided must be written down.
func (c *Call) saveRequest(ctx context.Context, entry *AuditEntry, q *Request) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	q.Revision++
	n, err := c.lock.SaveRequest(ctx, entry, *q)
	if err != nil {
		q.Revision--
		return err
	}
	if entry != nil {
		entry.N = n
		c.print(*entry)
	}
	c.cfg.Asked(ctx, *q)
	return nil
}

// requestEntry is the audit entry of what the actor did about a request.
func (c *Call) requestEntry(q Request, outcome string) AuditEntry {
	return AuditEntry{At: c.Now, Account: q.Account, Actor: c.Actor, Line: c.Line.String(), Outcome: outcome, Request: q.ID, Attack: q.AttackID, Why: q.Why}
}
