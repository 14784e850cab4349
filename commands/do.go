package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// stale is how long after it was asked a change may still be begun: later the world is another one.
const stale = 10 * time.Minute

// Changes reports whether a line asks for a change, so that it must be written down before it is acknowledged.
// A line with an unknown verb changes nothing.
func (r *Runner) Changes(l record.Line) bool {
	cmd, err := r.lookUp(l.Name)
	return err == nil && cmd.changes(l)
}

// Confirms reports whether a line asks for a change of the service, which whoever types it at a terminal is asked to confirm.
func (r *Runner) Confirms(l record.Line) bool {
	cmd, err := r.lookUp(l.Name)
	return err == nil && cmd.Plan != nil && cmd.changes(l)
}

// Do carries out a request: look up, check arguments, authorise, guard, claim, run, record.
// An error that wraps a Refusal is for the person who asked; others are faults.
func (r *Runner) Do(ctx context.Context, inv Invocation) (Result, error) {
	cmd, err := r.lookUp(inv.Line.Name)
	if err != nil {
		return Result{}, err
	}
	call := &Call{Setup: r.setup, loaded: newFacts(), Invocation: inv, Cmd: cmd, Now: r.cfg.Now(), Account: r.place(inv)}
	changes := cmd.changes(inv.Line)
	if err := r.authorise(ctx, call, changes); err != nil {
		r.recordRefusal(ctx, call, err)
		return Result{}, err
	}
	if err := r.resolve(ctx, call); err != nil {
		return Result{}, err
	}
	if !changes && cmd.ReadTrail != nil && len(call.Line.Words) > 0 {
		return cmd.ReadTrail(ctx, call, r.cfg.Audit)
	}
	if !changes {
		call.loaded.patience = accountPatience
		return withFacts(ctx, r, call, cmd.Read)
	}
	res, err := r.act(ctx, &job{Call: call})
	if err != nil {
		r.recordRefusal(ctx, call, err)
	}
	return res, err
}

func (r *Runner) lookUp(name string) (*Command, error) { return lookUp(r.setup.Commands, name) }

// lookUp finds a command by its name or an alias.
func lookUp(commands []*Command, name string) (*Command, error) {
	var known []string
	for _, c := range commands {
		if c.Name == name || slices.Contains(c.Aliases, name) {
			return c, nil
		}
		known = append(append(known, c.Name), c.Aliases...)
	}
	text := text.New(refusal.Typed(name), " is no command", grammar.Hint(name, known), ". ", text.Code("help"), " lists them")
	return nil, &refusal.Refusal{Kind: refusal.ErrUnknown, Text: text}
}

// authorise checks the one who asks, on every path, against his role now.
func (r *Runner) authorise(ctx context.Context, c *Call, changes bool) error {
	s := r.rights(ctx, c.Actor)
	c.Role, c.Group, c.could, c.Actor.Name = s.role, s.group, s.could, s.name
	if !changes {
		c.Role = max(s.role, s.was)
	}
	if s.unsure && changes {
		return &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New("Slack doesn't tell wafbot who you are just now, and without that nothing is changed. Try again in a moment")}
	}
	if c.Role == record.NoRole && c.could == record.NoRole {
		return &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New("You have no role here: wafbot answers full members of its own workspace whom its configuration names")}
	}
	return needRole(c, c.Cmd.Role)
}

// place is the account that a request names, else the one of the place where it was made, else the only one; nil if none of these.
func (r *Runner) place(inv Invocation) *Account {
	name := inv.Account
	if named := inv.Line.Keys["account"]; named != "" {
		name = named
	} else if len(r.cfg.Accounts) == 1 {
		return r.cfg.Accounts[0]
	}
	if i := slices.IndexFunc(r.cfg.Accounts, func(a *Account) bool { return a.Name == name }); i >= 0 {
		return r.cfg.Accounts[i]
	}
	return nil
}

// resolve finds the attack that a line is about and brings the line into canonical form.
func (r *Runner) resolve(ctx context.Context, c *Call) error {
	line := c.Invocation.Line
	named := line.Keys["account"]
	line = line.With("account", "")
	c.All = r.cfg.Accounts
	if named != "" && c.Account == nil {
		return refusal.Usage(text.New(refusal.Typed(named), " is no account: ", accountNames(r.cfg.Accounts)))
	}
	typed := attackTyped(c.Cmd, line)
	arg, _ := c.Cmd.attackArg()
	if c.Implied = typed == "" && c.Cmd.impliesAttack(); c.Implied {
		typed = c.Invocation.Attack
	}
	if typed != "" {
		err := r.resolveAttack(ctx, c, typed, named != "")
		switch {
		case err == nil:
			line = withAttack(c.Cmd, line, c.Attack.ID)
		case arg.Typed && errors.Is(err, refusal.ErrUsage) && record.IsAttackID(record.FoldID(typed)):
			line = withAttack(c.Cmd, line, record.FoldID(typed)) // it is forgotten by now; what was done for it isn't
		case !c.Implied || arg.Required:
			return err
		}
	}
	if c.Account == nil && !c.Cmd.AnyAccount {
		return c.Cmd.misuse(text.New("which account? Add ", text.Code("account="), " with one of: ", accountNames(r.cfg.Accounts)))
	}
	if c.Account != nil {
		c.All = []*Account{c.Account}
	}
	checked, err := c.Cmd.check(line, c.Account)
	if err != nil {
		return err
	}
	c.Line = checked
	return nil
}

func accountNames(accounts []*Account) string {
	var names []string
	for _, a := range accounts {
		names = append(names, a.Name)
	}
	return strings.Join(names, ", ")
}

// act carries out a line that changes something, at the service or in wafbot's own memory.
func (r *Runner) act(ctx context.Context, c *job) (Result, error) {
	switch {
	case c.Cmd.Write != nil && c.Ask:
		return Result{}, nil // whatever speaks against it is told when it is done
	case c.Cmd.Write != nil:
		return r.locked(ctx, c, r.write)
	case c.Cmd.Decide != nil:
		return r.locked(ctx, c, r.decide)
	case r.cfg.Policy.Changes == ChangesOff:
		return Result{}, changesAreOff()
	}
	return r.locked(ctx, c, r.change)
}

func changesAreOff() error {
	return refusal.Guarded(text.New("changes are switched off (", text.Code("policy.changes: off"), "). Nothing was done"))
}

// ready reads, under the account's lock, what a change goes by, and what this call did before it lost the lock.
func (r *Runner) ready(held context.Context, c *job) (err error) {
	if c.Known, err = r.cfg.Ledger.Changes(held, c.Account.Name); err != nil {
		return Away(err)
	}
	c.loaded = newFacts()
	r.load(held, c.loaded, []Need{{Account: c.Account.Name, Fact: FactContext}})
	if err := c.look(); err != nil {
		return Away(err)
	}
	return r.catchUp(held, c)
}

// change plans and carries out under the account's lock, so that what the plan saw still holds when it is done.
func (r *Runner) change(held context.Context, c *job) (Result, error) {
	if err := r.ready(held, c); err != nil {
		return Result{}, err
	}
	mine, whole := r.begun(c)
	late := late(c.Call)
	if whole || late && len(mine) > 0 {
		return r.again(held, c, mine, whole)
	}
	if late {
		if res, ok := r.askedBefore(held, c); ok {
			return res, nil
		}
		return Result{}, tooLate(c.Call)
	}
	c.needs = nil // of an attempt before
	plans, err := withFacts(held, r, c.Call, c.Cmd.Plan)
	r.tiePlan(held, c, err)
	if err != nil && len(mine) == 0 {
		err = notBegun(err)
	}
	if err != nil {
		return Result{}, forPeople(err)
	}
	for _, p := range plans {
		if err := needRole(c.Call, p.Role); err != nil {
			return Result{}, err
		}
	}
	if err := ask(c.Call, plans); err != nil {
		return Result{}, err
	}
	if c.waits(plans) {
		return r.request(held, c, plans)
	}
	res, err := r.run(held, c, plans)
	if res.Outcome == "rehearsed" && len(c.needs) > 0 {
		res.Lines = append(res.Lines, c.secondNote())
	}
	return res, err
}

// again answers a request that came before: what it began is finished, what is done is only told.
func (r *Runner) again(ctx context.Context, c *job, mine []record.Change, whole bool) (Result, error) {
	res := Result{Account: c.Account.Name, AttackID: mine[0].AttackID}
	for _, ch := range mine {
		if err := r.goOn(ctx, c, ch, &res); err != nil {
			return res, err
		}
	}
	switch {
	case !whole && c.Cmd.Parts == 0:
		res.Lines = append(res.Lines, text.New("It was asked over ", text.HumanDuration(stale), " ago: what was not begun by then was not done"))
	case !whole:
		res.Lines = append(res.Lines, text.New("The rest was asked over ", text.HumanDuration(stale), " ago and not begun: it was not done"))
	}
	return res, nil
}

// partID is the id of the change that a plan of the call becomes.
func (c *Call) partID(p Plan, i int) string {
	return record.ChangeID(c.Account.Name, c.ID, cmp.Or(p.Part, strconv.Itoa(i)))
}

// begun are the changes that this very delivery made before: after a crash it goes on with them instead of planning anew. whole tells that
// there are no others; of a line that takes back many only a new plan tells, which finds those that were begun by their ids.
func (r *Runner) begun(c *job) (mine []record.Change, whole bool) {
	parts := max(c.Cmd.Parts, 1)
	for part := range parts {
		id := record.ChangeID(c.Account.Name, c.ID, strconv.Itoa(part))
		if i := slices.IndexFunc(c.Known, func(ch record.Change) bool { return ch.ID == id }); i >= 0 {
			mine = append(mine, c.Known[i])
		}
	}
	whole = len(mine) == parts
	for _, ch := range c.Known {
		if ch.Undoes != "" && ch.ID == record.ChangeID(c.Account.Name, c.ID, ch.Undoes) {
			mine = append(mine, ch)
		}
	}
	return mine, whole
}

// ask refuses a plan with warnings that the person has not seen, so that he is asked.
func ask(c *Call, plans []Plan) error {
	if c.Anyway || c.Actor.Via == record.ViaClock {
		return nil
	}
	var warned Plan
	for _, p := range plans {
		if len(p.Nothing) > 0 {
			continue
		}
		warned.Notes = append(warned.Notes, p.Notes...)
		for _, w := range p.Warnings {
			if !w.Known && (!w.InDialog || !c.Warned) {
				warned.Warnings = append(warned.Warnings, w)
			}
		}
		warned.Does = strings.Trim(warned.Does+"; "+p.Does, "; ")
	}
	if len(c.needs) > 0 && warned.Does != "" {
		warned.Notes = append(warned.Notes, c.secondNote())
	}
	// In a rehearsal there is nothing to confirm: the answer is what would be sent.
	confirm := c.Ask && warned.Does != "" && c.Policy.Changes == ChangesOn
	if len(warned.Warnings) == 0 && !confirm {
		return nil
	}
	words := text.New(text.Bold(warned.Does), "?")
	if len(warned.Warnings) > 0 {
		words = text.New(words, " Before you do:")
	}
	for _, w := range warned.Warnings {
		words = text.New(words, "\n• ", w.Text)
	}
	for _, n := range warned.Notes {
		words = text.New(words, "\n", n)
	}
	return &refusal.Refusal{Kind: refusal.ErrAsk, Text: words, Warnings: warned.Warnings, Line: c.Line.With("account", c.Account.Name)}
}

// RefusedByMemory reports whether the memory answered and took nothing: it is read-only or full, or it is starting.
func RefusedByMemory(err error) bool {
	var answer interface{ RedisError() }
	return errors.As(err, &answer)
}

// Away is the refusal of a change because there is no memory.
func Away(err error) *refusal.Refusal {
	switch {
	case errors.Is(err, refusal.ErrEmptied):
		return &refusal.Refusal{Kind: refusal.ErrAway, Cause: err, Text: text.New("not done: wafbot's store (Redis) is empty, and what was told and done before is being read back from Slack. Try again in a minute")}
	case errors.Is(err, ErrNewer):
		return &refusal.Refusal{Kind: refusal.ErrAway, Cause: err, Text: text.New("not done: a newer wafbot has taken over, and this one is out of service. Ask again")}
	case RefusedByMemory(err):
		return &refusal.Refusal{Kind: refusal.ErrAway, Cause: err, Text: text.New("not done: wafbot's store (Redis) takes nothing just now: it is full, read-only or starting. Without it nothing is changed. Try again in a moment")}
	}
	return &refusal.Refusal{Kind: refusal.ErrAway, Cause: err, Text: text.New("not done: wafbot's store (Redis) can't be reached, and without it nothing is changed. Try again in a moment")}
}

// reference names a fault to a person so that it can be found in the log.
func reference(inv Invocation) string {
	return "e" + record.ShortHash(inv.ID, fmt.Sprint(inv.At.UnixNano()))
}

// ForPeople is what a person may be shown of an error: the words of a refusal, or a reference to the log.
func ForPeople(inv Invocation, err error) (words text.Text, ref string) {
	var refusal *refusal.Refusal
	if errors.As(err, &refusal) {
		return refusal.Text, ""
	}
	ref = reference(inv)
	return text.New("Something went wrong inside wafbot. Nothing more is known here; reference ", text.Code(ref), " in its log"), ref
}
