package drill

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/sandbox"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// Speed is how many times faster than the real service the world of a drill has to be: mitigations start to work within a second.
const Speed = 600

// stepTimeout bounds each step.
const stepTimeout = 20 * time.Second

// Who and what plays in the emulated world.
const (
	account   = "acme"
	source    = "203.0.113.7"
	other     = "198.51.100.4"
	responder = "rob"
	approver  = "ann"
	broad     = "FR" // denying a country needs approval
)

// player plays a drill in an emulated world.
type player struct {
	world  *sandbox.World
	attack string // its id at the service
	card   workspace.Message
}

// NotInSandbox is what a drill in an emulated world leaves untried.
func NotInSandbox() []string {
	return []string{"your configuration, Slack, Redis and service (wafbot doctor, wafbot drill)", "a patch, a mode, forms", "the pager"}
}

// InSandbox plays the whole path in an emulated world in which a bot runs: an attack, its card, a denial, whether it works, and its undo. It passes
// each step on when it ended, and plays none behind one that failed.
func InSandbox(ctx context.Context, world *sandbox.World, ended func(describe.DrillStep)) (steps []describe.DrillStep) {
	r := &player{world: world}
	for _, s := range []struct {
		name string
		play func(ctx context.Context) error
	}{
		{"wafbot starts and says that it watches", r.starts},
		{"an attack begins, and its card is posted", r.begins},
		{"a click denies the source, and the entry stands at the service", r.denies},
		{"it takes effect: the source stops, and others go on", r.works},
		{"the card shows who did it, and its undo", r.shows},
		{"a click undoes it, and the source isn't stopped any more", r.undoes},
		{"what needs approval waits for it, and who asked can't approve it", r.asks},
		{"another one approves it, and the entry stands at the service", r.approves},
		{"the audit log has all of it", r.audited},
	} {
		step := describe.DrillStep{Name: s.name, OK: true}
		begun := time.Now()
		within, cancel := context.WithTimeout(ctx, stepTimeout)
		err := s.play(within)
		cancel()
		if step.Took = time.Since(begun); err != nil {
			step.OK, step.Note = false, err.Error()
		}
		steps = append(steps, step)
		ended(step)
		if err != nil {
			return steps
		}
	}
	return steps
}

// until waits for something that the emulated world shows.
func (r *player) until(ctx context.Context, what string, ok func() bool) error {
	for {
		slack, service := r.world.Slack.Watch(), r.world.WAF.Watch() // before the check, so that nothing falls in between
		if ok() {
			return nil
		}
		select {
		case <-slack:
		case <-service:
		case <-ctx.Done():
			return errors.New("never came: " + what)
		}
	}
}

// hasAll reports whether a message says all the parts, whatever is bold or code in it.
func hasAll(m workspace.Message, parts []string) bool {
	text := strings.NewReplacer("*", "", "`", "").Replace(m.Plain())
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// message waits for a message in the account's channel that says all the parts.
func (r *player) message(ctx context.Context, parts ...string) (found workspace.Message, err error) {
	err = r.until(ctx, "a message with "+strings.Join(parts, ", "), func() bool {
		all := r.world.Slack.Messages("#waf")
		i := slices.IndexFunc(all, func(m workspace.Message) bool { return hasAll(m, parts) })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found, err
}

func (r *player) click(ctx context.Context, user, button string) error {
	d, err := r.world.Slack.Click(ctx, workspace.Click{User: user, Channel: r.card.Channel, TS: r.card.TS, Button: button})
	if err == nil && !d.Acked {
		err = errors.New("the click was not acknowledged: " + d.Warning)
	}
	return err
}

func (r *player) starts(ctx context.Context) error {
	_, err := r.message(ctx, "wafbot watches "+account)
	return err
}

func (r *player) begins(ctx context.Context) (err error) {
	a, err := r.world.WAF.StartAttack(waf.AttackSpec{
		Account: account, Started: waf.Duration(time.Minute),
		Sources: []waf.SourceSpec{{IP: source, Country: "FR", PerSecond: 8}, {IP: other, Country: "NL", PerSecond: 2}},
	})
	if err != nil {
		return err
	}
	r.attack = a.ID
	r.card, err = r.message(ctx, source, "Unacknowledged")
	return err
}

func (r *player) denies(ctx context.Context) error {
	if err := r.click(ctx, responder, "Deny "+source); err != nil {
		return err
	}
	return r.until(ctx, "the entry at the service", func() bool { return r.world.WAF.Denied(account, source) })
}

// totals are what became of a source's hits.
func (r *player) totals(ip string) waf.Totals {
	state, err := r.world.WAF.State(account)
	if err != nil {
		return waf.Totals{}
	}
	for _, a := range state.Attacks {
		for _, s := range a.Sources {
			if a.ID == r.attack && s.IP == ip {
				return s.Totals
			}
		}
	}
	return waf.Totals{}
}

// hits sends hits of the attack, and reports whether one of the source and one of the others came through.
func (r *player) hits() (fromSource, fromOthers bool, err error) {
	before, beforeOther := r.totals(source).Through, r.totals(other).Through
	if err := r.world.WAF.AddHits(r.attack, 1000); err != nil {
		return false, false, err
	}
	return r.totals(source).Through > before, r.totals(other).Through > beforeOther, nil
}

func (r *player) works(ctx context.Context) error {
	err := r.until(ctx, "the entry working", func() bool {
		state, err := r.world.WAF.State(account)
		return err == nil && len(state.IPRules) == 1 && state.IPRules[0].InForce
	})
	if err != nil {
		return err
	}
	fromSource, fromOthers, err := r.hits()
	switch {
	case err != nil:
		return err
	case fromSource:
		return errors.New("the source still comes through")
	case !fromOthers:
		return errors.New("others are stopped too")
	}
	return nil
}

func (r *player) shows(ctx context.Context) (err error) {
	r.card, err = r.message(ctx, "Deny "+source, "> is on it", "[Undo…]")
	return err
}

func (r *player) undoes(ctx context.Context) error {
	if err := r.click(ctx, responder, "Undo…"); err != nil {
		return err
	}
	err := r.until(ctx, "the form of what can be undone", func() bool {
		v := r.world.Slack.OpenView(responder)
		return v != nil && strings.Contains(v.Plain(), source)
	})
	if err != nil {
		return err
	}
	if _, err := r.world.Slack.Submit(ctx, workspace.Submission{User: responder}); err != nil {
		return err
	}
	err = r.until(ctx, "the entry off the list, and out of force", func() bool {
		state, err := r.world.WAF.State(account)
		return err == nil && len(state.IPRules) == 0
	})
	if err != nil {
		return err
	}
	fromSource, _, err := r.hits()
	if err == nil && !fromSource {
		err = errors.New("the source is still stopped")
	}
	return err
}

// broadly reports whether the country is denied.
func (r *player) broadly() bool {
	state, err := r.world.WAF.State(account)
	return err == nil && slices.ContainsFunc(state.IPRules, func(e waf.IPRuleState) bool { return slices.Contains(e.SourceValues, broad) })
}

func (r *player) asks(ctx context.Context) (err error) {
	line := "deny country:" + broad + " for=2h account=" + account
	if _, err := r.world.Slack.Command(ctx, workspace.Command{User: responder, Channel: "#waf", Text: line}); err != nil {
		return err
	}
	if r.card, err = r.message(ctx, "Deny country:"+broad, "[Approve]"); err != nil {
		return err
	}
	if err := r.click(ctx, responder, "Approve"); err != nil {
		return err
	}
	if err := r.answer(ctx, "you asked for this yourself"); err != nil {
		return err
	}
	if r.broadly() {
		return errors.New("it was done without approval")
	}
	return nil
}

func (r *player) approves(ctx context.Context) error {
	if err := r.click(ctx, approver, "Approve"); err != nil {
		return err
	}
	return r.until(ctx, "the entry at the service", r.broadly)
}

// answer waits for an answer to the responder that says all the parts.
func (r *player) answer(ctx context.Context, parts ...string) error {
	return r.until(ctx, "an answer with "+strings.Join(parts, ", "), func() bool {
		return slices.ContainsFunc(r.world.Slack.Ephemerals(responder), func(m workspace.Message) bool { return hasAll(m, parts) })
	})
}

func (r *player) audited(ctx context.Context) error {
	if _, err := r.world.Slack.Command(ctx, workspace.Command{User: responder, Channel: "#waf", Text: "audit account=" + account}); err != nil {
		return err
	}
	return r.answer(ctx, "deny "+source, "undo ", "approve ")
}
