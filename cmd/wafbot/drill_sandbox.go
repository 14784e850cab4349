package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/sandbox"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/internal/text"
)

// How the world of a drill is: measures take effect hundreds of times faster, and no step may take longer than the patience.
const (
	drillSpeed    = 600
	drillPatience = 20 * time.Second
	drillAccount  = "acme"
	drillSource   = "203.0.113.7"
	drillOther    = "198.51.100.4"
	drillUser     = "rob" // a responder
	drillSecond   = "ann"
	drillBroad    = "FR" // denying a country takes two
)

// rehearsal is a drill in an emulated world.
type rehearsal struct {
	world  *sandbox.World
	attack string // its id at the service
	card   workspace.Message
}

// sandboxDrill plays the whole path in an emulated world of its own: an attack, its card, a denial, its effect, and its undo.
func (t terminal) sandboxDrill(ctx context.Context, o lineOptions) int {
	steps, err := t.playDrill(ctx, o)
	if err != nil {
		return t.refuse(o, err)
	}
	r := drillResult{OK: !slices.ContainsFunc(steps, func(s describe.DrillStep) bool { return !s.OK }), Steps: steps, NotTried: notRehearsed()}
	res := call.Result{Lines: []text.Text{text.New("Not tried: ", strings.Join(r.NotTried, "; "))}, Data: r}
	if !r.OK {
		res.Outcome = "failed"
	}
	return t.show(o, res)
}

// notRehearsed is what a drill in the sandbox leaves untried.
func notRehearsed() []string {
	return []string{"your configuration, Slack, Redis and service (wafbot doctor, wafbot drill)", "a patch, a mode, forms", "the pager"}
}

// playDrill plays the steps, and prints each as it is done. The steps behind one that failed are not played.
func (t terminal) playDrill(ctx context.Context, o lineOptions) (steps []describe.DrillStep, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the bot: %w", err)
	}
	world, err := sandbox.New(sandbox.Config{Deliver: "http://" + l.Addr().String(), Speed: drillSpeed, Quiet: true})
	if err != nil {
		l.Close()
		return nil, err
	}
	cfg, err := demoConfig(world)
	if err != nil {
		l.Close()
		return nil, err
	}
	err = beside(ctx, world, func(ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		log := newLog(t.err, slog.LevelError)
		go func() { ended <- serve(ctx, cfg, l, botOptions{log: log, audit: io.Discard}) }()
		steps = t.steps(ctx, o, &rehearsal{world: world})
		stop()
		return <-ended
	})
	if ctx.Err() != nil {
		return nil, errors.New("stopped before everything was tried")
	}
	return steps, err
}

// steps plays the steps, up to one that fails.
func (t terminal) steps(ctx context.Context, o lineOptions, r *rehearsal) (steps []describe.DrillStep) {
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
		{"what takes a second person waits for one, and who asked can't approve it", r.asks},
		{"another one approves it, and the entry stands at the service", r.approves},
		{"the audit log has all of it", r.audited},
	} {
		step := describe.DrillStep{Name: s.name, OK: true}
		begun := time.Now()
		within, cancel := context.WithTimeout(ctx, drillPatience)
		err := s.play(within)
		cancel()
		if step.Took = time.Since(begun); err != nil {
			step.OK, step.Note = false, err.Error()
		}
		steps = append(steps, step)
		if !o.Has(optJSON) {
			fmt.Fprintln(t.out, step.Line().In(o.zone))
		}
		if err != nil {
			return steps
		}
	}
	return steps
}

// until waits for something that the emulated world shows.
func (r *rehearsal) until(ctx context.Context, what string, ok func() bool) error {
	for {
		slack, service := r.world.Slack.Watch(), r.world.WAF.Watch() // before the look, so that nothing falls in between
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
func (r *rehearsal) message(ctx context.Context, parts ...string) (found workspace.Message, err error) {
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

func (r *rehearsal) click(ctx context.Context, user, button string) error {
	d, err := r.world.Slack.Click(ctx, workspace.Click{User: user, Channel: r.card.Channel, TS: r.card.TS, Button: button})
	if err == nil && !d.Acked {
		err = errors.New("the click was not acknowledged: " + d.Warning)
	}
	return err
}

func (r *rehearsal) starts(ctx context.Context) error {
	_, err := r.message(ctx, "wafbot watches "+drillAccount)
	return err
}

func (r *rehearsal) begins(ctx context.Context) (err error) {
	a, err := r.world.WAF.StartAttack(waf.AttackSpec{
		Account: drillAccount, Started: waf.Duration(time.Minute),
		Sources: []waf.SourceSpec{{IP: drillSource, Country: "FR", PerSecond: 8}, {IP: drillOther, Country: "NL", PerSecond: 2}},
	})
	if err != nil {
		return err
	}
	r.attack = a.ID
	r.card, err = r.message(ctx, drillSource, "Unacknowledged")
	return err
}

func (r *rehearsal) denies(ctx context.Context) error {
	if err := r.click(ctx, drillUser, "Deny only"); err != nil {
		return err
	}
	return r.until(ctx, "the entry at the service", func() bool { return r.world.WAF.Denied(drillAccount, drillSource) })
}

// totals are what became of a source's hits.
func (r *rehearsal) totals(ip string) waf.Totals {
	state, err := r.world.WAF.State(drillAccount)
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

// hits sends hits of the attack, and tells whether one of the source and one of the others came through.
func (r *rehearsal) hits() (source, others bool, err error) {
	one, other := r.totals(drillSource).Through, r.totals(drillOther).Through
	if err := r.world.WAF.AddHits(r.attack, 1000); err != nil {
		return false, false, err
	}
	return r.totals(drillSource).Through > one, r.totals(drillOther).Through > other, nil
}

func (r *rehearsal) works(ctx context.Context) error {
	err := r.until(ctx, "the entry in force", func() bool {
		state, err := r.world.WAF.State(drillAccount)
		return err == nil && len(state.IPRules) == 1 && state.IPRules[0].InForce
	})
	if err != nil {
		return err
	}
	source, others, err := r.hits()
	switch {
	case err != nil:
		return err
	case source:
		return errors.New("the source still comes through")
	case !others:
		return errors.New("others are stopped too")
	}
	return nil
}

func (r *rehearsal) shows(ctx context.Context) (err error) {
	r.card, err = r.message(ctx, "Deny "+drillSource, "> is on it since", "[Undo]")
	return err
}

func (r *rehearsal) undoes(ctx context.Context) error {
	if err := r.click(ctx, drillUser, "Undo"); err != nil {
		return err
	}
	err := r.until(ctx, "the entry off the list, and out of force", func() bool {
		state, err := r.world.WAF.State(drillAccount)
		return err == nil && len(state.IPRules) == 0
	})
	if err != nil {
		return err
	}
	source, _, err := r.hits()
	if err == nil && !source {
		err = errors.New("the source is still stopped")
	}
	return err
}

// broadly reports whether the country is denied.
func (r *rehearsal) broadly() bool {
	state, err := r.world.WAF.State(drillAccount)
	return err == nil && slices.ContainsFunc(state.IPRules, func(e waf.IPRuleState) bool { return slices.Contains(e.SourceValues, drillBroad) })
}

func (r *rehearsal) asks(ctx context.Context) (err error) {
	line := "deny country:" + drillBroad + " for=2h account=" + drillAccount
	if _, err := r.world.Slack.Command(ctx, workspace.Command{User: drillUser, Channel: "#waf", Text: line}); err != nil {
		return err
	}
	if r.card, err = r.message(ctx, "Deny country:"+drillBroad, "[Approve]"); err != nil {
		return err
	}
	if err := r.click(ctx, drillUser, "Approve"); err != nil {
		return err
	}
	if err := r.answer(ctx, "you asked for this yourself"); err != nil {
		return err
	}
	if r.broadly() {
		return errors.New("one person alone did it")
	}
	return nil
}

func (r *rehearsal) approves(ctx context.Context) error {
	if err := r.click(ctx, drillSecond, "Approve"); err != nil {
		return err
	}
	return r.until(ctx, "the entry at the service", r.broadly)
}

// answer waits for an answer to the responder that says all the parts.
func (r *rehearsal) answer(ctx context.Context, parts ...string) error {
	return r.until(ctx, "an answer with "+strings.Join(parts, ", "), func() bool {
		return slices.ContainsFunc(r.world.Slack.Ephemerals(drillUser), func(m workspace.Message) bool { return hasAll(m, parts) })
	})
}

func (r *rehearsal) audited(ctx context.Context) error {
	if _, err := r.world.Slack.Command(ctx, workspace.Command{User: drillUser, Channel: "#waf", Text: "audit account=" + drillAccount}); err != nil {
		return err
	}
	return r.answer(ctx, "deny "+drillSource, "undo ", "approve ")
}
