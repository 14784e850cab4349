package commands

import (
	"context"
	"errors"
	"slices"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// decide settles a request under the account's lock.
func (r *Runner) decide(held context.Context, c *job) (Result, error) {
	if err := r.ready(held, c); err != nil {
		return Result{}, err
	}
	d, err := withFacts(held, r, c.Call, c.Cmd.Decide)
	switch {
	case err != nil || c.Ask:
		return Result{}, err // when it is carried out it is planned again, and refused if its premise changed
	case d.As == record.RequestRejected:
		return r.reject(held, c, d)
	case d.Begun:
		return r.goOnWith(held, c, d.Request, d.Line)
	}
	return r.carry(held, c, d)
}

// Decision is what a person decided about an approval request.
type Decision struct {
	Request record.ApprovalRequest
	As      record.RequestState
	Why     string
	Line    record.Line // to carry out as the asker's; none of a rejection
	Begun   bool        // decided by this very delivery before, or cut short
}

// reject writes down that a request is rejected.
func (r *Runner) reject(ctx context.Context, c *job, d Decision) (Result, error) {
	q := d.Request
	if !d.Begun {
		q = c.decided(q, d.As, d.Why)
		entry := c.requestEntry(q, string(d.As))
		if err := r.saveRequest(ctx, c, &entry, &q); err != nil {
			return Result{}, Away(err)
		}
	}
	return Result{Outcome: "done", Lines: []text.Text{RequestLine(q, c.Now)}, AttackID: q.AttackID, Account: q.Account, Data: q}, nil
}

// changesOn refuses to have anything done while changes are not on: a request may have waited since before.
func (c *Call) changesOn() error {
	if c.Policy.Changes == ChangesOn {
		return nil
	}
	return refusal.Guarded(text.New("changes are not on (", text.Code("policy.changes"), "): nothing that was asked for is sent. Nothing was done"))
}

// requestTyped is the request that the line means.
func (c *Call) requestTyped() (record.ApprovalRequest, error) {
	all, err := c.facts(c.Account.Name).Approvals()
	if err != nil {
		return record.ApprovalRequest{}, Away(err)
	}
	typed := c.Line.Words[0]
	found := slices.DeleteFunc(all, func(q record.ApprovalRequest) bool { return !record.MatchID(q.ID, typed) })
	switch len(found) {
	case 0:
		words := text.New("no request ", text.Code(text.Sanitize(typed, text.MaxField)), " on ", c.Account.Name)
		if len(c.Accounts) > 1 {
			words = text.New(words, ". One of another account? Add ", text.Code("account="), " with one of: ", accountNames(c.Accounts), ". Else")
		} else {
			words = text.New(words, ":")
		}
		return record.ApprovalRequest{}, refusal.About(refusal.Usage(text.New(words, " they are kept for a week, and lost when wafbot's store (Redis) is emptied: ask for the change again if it is still wanted. Nothing was done")), "request", "")
	case 1:
		return found[0], nil
	}
	return record.ApprovalRequest{}, refusal.About(refusal.Usage(text.New(text.Code(text.Sanitize(typed, text.MaxField)), " fits several requests: type more of its id")), "request", "")
}

// undecided refuses to decide what is decided, or too late to be.
func (c *Call) undecided(q record.ApprovalRequest) error {
	if !q.Waits(c.Now) {
		return refusal.Nothing(text.New(RequestLine(q, c.Now), ". Nothing was changed"))
	}
	if late(c) {
		return tooLate(c)
	}
	return nil
}

// maySecond refuses who can't be the second person of a request.
func (c *Call) maySecond(q record.ApprovalRequest) error {
	if err := c.undecided(q); err != nil {
		return err
	}
	deny := func(t text.Text) error {
		return &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New(t, ". Nothing was changed")}
	}
	switch {
	case c.Actor.Via == record.ViaCLI:
		return deny(text.New("the terminal can ask for approval and never give it: decide in Slack"))
	case c.Actor.ID == q.Asker.ID:
		return deny(text.New("you asked for this yourself: somebody else has to decide. ", ApprovalRequestWhoDecides(q, "")))
	}
	return needRole(c, q.Role)
}

// decided is the request with the actor's decision.
func (c *Call) decided(q record.ApprovalRequest, state record.RequestState, why string) record.ApprovalRequest {
	by := c.Actor
	q.State, q.Decided, q.DecidedAt, q.Delivery, q.Why = state, &by, c.Now, c.ID, why
	return q
}

// closeRequest ends a request of which what it was based on no longer holds. Nothing is done.
func (r *Runner) closeRequest(ctx context.Context, c *job, q record.ApprovalRequest, why text.Text) (Result, error) {
	q = c.decided(q, record.RequestClosed, why.String())
	entry := c.requestEntry(q, string(record.RequestClosed))
	if err := r.saveRequest(ctx, c, &entry, &q); err != nil {
		return Result{}, Away(err)
	}
	return Result{}, &refusal.Refusal{Kind: refusal.ErrGuarded, Cause: errRecorded, Text: text.New(text.Bold("Nothing was done"), ": what was asked for is no longer what it was: ", why,
		". The request is closed; ", text.Sanitize(q.Asker.Name, text.MaxField), " can ask again")}
}

// errClosed marks what a plan made anew found, after which the request is closed.
var errClosed = errors.New("premise changed")

func closes(why text.Text) error { return &refusal.Refusal{Kind: errClosed, Text: why} }

// asAsker is a request's line as its asker's call.
func (r *Runner) asAsker(c *job, q record.ApprovalRequest, line record.Line) (*job, error) {
	cmd, err := r.lookUp(line.Name)
	return &job{lock: c.lock, Call: &Call{
		Setup: r.setup, loaded: newFacts(), Cmd: cmd, Line: line, Now: c.Now, Account: c.Account, Known: c.Known, scene: c.scene, granted: &q,
		Invocation: Invocation{Line: line, Actor: q.Asker, ID: q.ID, At: c.Now, Account: q.Account, Anyway: true},
	}}, err
}

// planAgain plans a request's line again. An error that wraps errClosed says why the request can't be carried out any more.
func (r *Runner) planAgain(ctx context.Context, c *job, q record.ApprovalRequest, asked *job) (plans []Plan, err error) {
	s := r.rights(ctx, q.Asker)
	if s.unsure || s.role < q.Role && s.could >= q.Role {
		return nil, &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New("Slack doesn't tell wafbot just now who asked for it, and without that nothing is changed. Try again in a moment")}
	}
	if asked.Role = s.role; s.role < q.Role {
		return nil, closes(text.New(text.Sanitize(q.Asker.Name, text.MaxField), " may not do that any more"))
	}
	if err := r.resolve(ctx, asked.Call); err != nil {
		return nil, unlessAgain(forPeople(err))
	}
	plans, err = withFacts(ctx, r, asked.Call, asked.Cmd.Plan)
	r.tiePlan(ctx, asked, err)
	if err != nil {
		return nil, unlessAgain(notBegun(err))
	}
	return plans, nil
}

// unlessAgain is an error of planning anew; one that trying again doesn't mend closes the request.
func unlessAgain(err error) error {
	var refused *refusal.Refusal
	for _, kind := range []error{refusal.ErrGuarded, refusal.ErrNothing, refusal.ErrUsage} {
		if errors.Is(err, kind) && errors.As(err, &refused) {
			return closes(refused.Text)
		}
	}
	return err
}

// holds refuses plans that are worse than what the asker saw.
func approvalRequestHolds(r record.ApprovalRequest, asked *Call, plans []Plan) error {
	switch todo := slices.ContainsFunc(plans, func(p Plan) bool { return len(p.Nothing) == 0 }); {
	case len(plans) == 0:
		return closes(text.New("nothing is left to do"))
	case !todo:
		return closes(plans[0].Nothing)
	}
	if worse := premiseWorse(r.Premise, premiseOf(plans)); worse != "" {
		return closes(text.New(worse))
	}
	for _, need := range asked.needs {
		if !slices.Contains(r.Needs, need) {
			return closes(text.New("one more thing needs approval by now: ", need.Why))
		}
	}
	return nil
}

// unbegun are the plans of which nothing was done yet: what stands there of the others is their own.
func (c *Call) unbegun(asked *Call, plans []Plan) (left []Plan) {
	for i, p := range plans {
		id := asked.partID(p, i)
		if !slices.ContainsFunc(c.Known, func(ch record.Change) bool { return ch.ID == id }) {
			left = append(left, p)
		}
	}
	return left
}

// mine reports whether this very delivery decided the request so before, or somebody else did and was cut short: under the account's lock
// nobody is at it.
func (c *Call) mine(q record.ApprovalRequest, as record.RequestState) bool {
	return q.State == as && (q.Delivery == c.ID || q.InHand())
}

// carry has a request done as its asker's: looked at anew, written down as decided, and carried out.
func (r *Runner) carry(ctx context.Context, c *job, d Decision) (Result, error) {
	q := d.Request
	asked, err := r.asAsker(c, q, d.Line)
	if err != nil {
		return Result{}, err
	}
	plans, err := r.planAgain(ctx, c, q, asked)
	if err == nil {
		err = approvalRequestHolds(q, asked.Call, c.unbegun(asked.Call, plans))
	}
	var refusal *refusal.Refusal
	switch begun, whole := r.begun(asked); {
	case errors.Is(err, errClosed) && len(begun) > 0: // it was cut short in the middle: the rest is not done
		return r.settleRequest(ctx, c, q, asked, func() (Result, error) { return r.again(ctx, asked, begun, whole) })
	case errors.Is(err, errClosed) && errors.As(err, &refusal):
		return r.closeRequest(ctx, c, q, refusal.Text)
	case err != nil:
		return Result{}, err
	}
	if q.State != d.As {
		if q = c.decided(q, d.As, d.Why); d.As == record.RequestAlone {
			q.Does = doesOf(plans) // for a shorter time than what was asked for
		}
		entry := c.requestEntry(q, string(d.As))
		if err := r.saveRequest(ctx, c, &entry, &q); err != nil {
			return Result{}, Away(err)
		}
	}
	asked.granted = &q
	return r.settleRequest(ctx, c, q, asked, func() (Result, error) { return r.run(ctx, asked, plans) })
}

// goOnWith goes on with what was decided before, and was cut short.
func (r *Runner) goOnWith(ctx context.Context, c *job, q record.ApprovalRequest, line record.Line) (Result, error) {
	asked, err := r.asAsker(c, q, line)
	if err != nil {
		return Result{}, err
	}
	begun, whole := r.begun(asked)
	switch isLate := late(c.Call); {
	case q.Outcome != "":
		return Result{Outcome: q.Outcome, Lines: []text.Text{RequestLine(q, c.Now)}, Changes: begun, AttackID: q.AttackID, Account: q.Account, Data: q}, nil
	case whole || isLate && len(begun) > 0:
		return r.settleRequest(ctx, c, q, asked, func() (Result, error) { return r.again(ctx, asked, begun, whole) })
	case isLate:
		return r.closeRequest(ctx, c, q, text.New("it could not be carried out in time"))
	}
	return r.carry(ctx, c, Decision{Request: q, As: q.State, Why: q.Why, Line: line})
}

// settleRequest carries a decided request out and writes down what came of it.
func (r *Runner) settleRequest(ctx context.Context, c *job, q record.ApprovalRequest, asked *job, do func() (Result, error)) (Result, error) {
	res, err := do()
	c.lost = append(c.lost, asked.lost...)
	switch {
	case errors.Is(err, ErrLost), errors.Is(err, refusal.ErrAway):
		return res, err // it is gone on with
	case err != nil:
		text, _ := ForPeople(c.Invocation, err)
		q.Outcome, q.Fault = "failed", text.String()
	default:
		q.Outcome = res.Outcome
	}
	if failed := r.saveRequest(ctx, c, nil, &q); failed != nil { // in a while it is looked at again
		r.cfg.Log.Error("write down what came of a request", "account", q.Account, "request", q.ID, "err", failed)
	}
	res.Lines = append([]text.Text{RequestLine(q, c.Now)}, res.Lines...)
	res.Data = q
	return res, err
}
