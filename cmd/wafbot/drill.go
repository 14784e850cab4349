package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/drill"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox"
	"github.com/wafbot/wafbot/internal/text"
)

// drillResult is the result of a drill, for programs.
type drillResult struct {
	Account  string               `json:"account,omitempty"`
	Error    string               `json:"error,omitempty"`
	OK       bool                 `json:"ok"`
	Drill    *record.Drill        `json:"drill,omitempty"`
	Steps    []describe.DrillStep `json:"steps"`
	NotTried []string             `json:"not_tried"`
}

// drill begins drills and follows them to the end.
func (t terminal) drill(ctx context.Context, a *app, o lineOptions, inv call.Invocation) int {
	var names []string
	for _, account := range a.cfg.Accounts {
		names = append(names, account.Name)
	}
	lines := drill.Lines(inv.Line, names)
	var results []drillResult
	for _, line := range lines {
		each, name := inv, cmp.Or(line.Keys["account"], names[0])
		each.ID, each.Line = inv.ID+name, line
		res, err := a.runner.Do(ctx, each)
		if err != nil && len(lines) == 1 {
			return t.refuse(o, err)
		}
		results = append(results, t.drillBegun(o, name, res, err))
	}
	follower := drill.Follower{Store: a.store.Drills, Runner: a.runner, Clocks: a.clocks, Actor: osActor(), Log: a.log}
	for i := range results {
		if results[i].Drill == nil {
			continue
		}
		d := follower.Follow(ctx, *results[i].Drill, func(d record.Drill) {
			if !o.Has(optJSON) {
				fmt.Fprintf(t.out, "%s: the card is in channel %s. Waiting for a click until %s\n", d.Account, d.Card.Channel, d.Until.In(o.zone).Format("15:04:05 MST"))
			}
		})
		results[i] = drillResult{Account: d.Account, OK: describe.DrillPassed(d), Drill: &d, Steps: describe.DrillSteps(d), NotTried: describe.NotDrilled()}
	}
	return t.drillsEnded(o, results)
}

// drillBegun reports whether a drill began.
func (t terminal) drillBegun(o lineOptions, account string, res call.Result, err error) drillResult {
	r := drillResult{Account: account, NotTried: describe.NotDrilled()}
	if err != nil {
		text, _ := call.ForPeople(call.Invocation{}, err)
		r.Error = text.In(o.zone)
		if !o.Has(optJSON) {
			t.complain(fmt.Errorf("%s: %s", account, r.Error))
		}
		return r
	}
	if d, ok := res.Data.(record.Drill); ok {
		r.Drill = &d
	}
	if !o.Has(optJSON) {
		fmt.Fprintln(t.out, res.Lines[0].In(o.zone))
	}
	return r
}

// drillsEnded prints the results of drills.
func (t terminal) drillsEnded(o lineOptions, results []drillResult) int {
	res := call.Result{Data: results}
	for _, r := range results {
		if !r.OK {
			res.Outcome = "failed"
		}
		if r.Drill != nil {
			res.Lines = append(res.Lines, describe.Drill(*r.Drill)...)
		}
	}
	return t.show(o, res)
}

// sandboxDrill plays a drill in an emulated world of its own, and prints each step as it ends.
func (t terminal) sandboxDrill(ctx context.Context, o lineOptions) int {
	steps, err := t.playDrill(ctx, func(step describe.DrillStep) {
		if !o.Has(optJSON) {
			fmt.Fprintln(t.out, step.Line().In(o.zone))
		}
	})
	if err != nil {
		return t.refuse(o, err)
	}
	r := drillResult{OK: !slices.ContainsFunc(steps, func(s describe.DrillStep) bool { return !s.OK }), Steps: steps, NotTried: drill.NotInSandbox()}
	res := call.Result{Lines: []text.Text{text.New("Not tried: ", strings.Join(r.NotTried, "; "))}, Data: r}
	if !r.OK {
		res.Outcome = "failed"
	}
	return t.show(o, res)
}

// playDrill runs a bot in an emulated world, and a drill beside it.
func (t terminal) playDrill(ctx context.Context, ended func(describe.DrillStep)) (steps []describe.DrillStep, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the bot: %w", err)
	}
	world, err := sandbox.New(sandbox.Config{Deliver: "http://" + l.Addr().String(), Speed: drill.Speed, Quiet: true})
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
		served := make(chan error, 1)
		log := newLog(t.err, slog.LevelError, cfg.Log.Format)
		go func() { served <- serve(ctx, cfg, l, botOptions{log: log, audit: &lineWriter{out: io.Discard}}) }()
		steps = drill.InSandbox(ctx, world, ended)
		stop()
		return <-served
	})
	if ctx.Err() != nil {
		return nil, errors.New("stopped before everything was tried")
	}
	return steps, err
}
