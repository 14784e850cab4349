package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

const (
	drillEvery  = 200 * time.Millisecond // how often the drill's state is read
	drillGrace  = 30 * time.Second       // how long its card may take to be posted, or to show how it ended
	drillCancel = 5 * time.Second        // how long cancelling may take
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

// isDrill reports whether a line begins drills. Those the terminal follows; other drill lines acknowledge one or cancel it.
func isDrill(l record.Line) bool {
	return l.Name == "drill" && len(l.Words) == 0 && l.Keys["ack"] == ""
}

// drill begins a drill in each account, or in the named one, and follows them to the end.
func (t terminal) drill(ctx context.Context, a *app, o lineOptions, inv call.Invocation) int {
	var names []string
	for _, account := range a.cfg.Accounts {
		names = append(names, account.Name)
	}
	if named := inv.Line.Keys["account"]; named != "" || len(names) == 1 {
		names = slices.DeleteFunc(names, func(name string) bool { return named != "" && name != named })
	}
	if len(names) == 0 {
		names = []string{inv.Line.Keys["account"]} // there is no such account: the answer says so
	}
	var results []drillResult
	for _, name := range names {
		each := inv
		each.ID, each.Line = inv.ID+name, inv.Line.With("account", name)
		if len(names) == 1 && inv.Line.Keys["account"] == "" {
			each.Line = inv.Line
		}
		res, err := a.runner.Do(ctx, each)
		if err != nil && len(names) == 1 {
			return t.refuse(o, err)
		}
		results = append(results, t.drillBegun(o, name, res, err))
	}
	for i := range results {
		if results[i].Drill != nil {
			results[i] = t.followDrill(ctx, a, o, *results[i].Drill)
		}
	}
	return t.drillsEnded(o, results)
}

// drillBegun reports whether a drill began.
func (t terminal) drillBegun(o lineOptions, account string, res call.Result, err error) drillResult {
	r := drillResult{Account: account, NotTried: describe.NotDrilled()}
	if err != nil {
		text, _ := call.ForPeople(call.Invocation{}, err)
		r.Error = text.In(o.zone)
		if !o.json {
			t.complain(fmt.Errorf("%s: %s", account, r.Error))
		}
		return r
	}
	if d, ok := res.Data.(record.Drill); ok {
		r.Drill = &d
	}
	if !o.json {
		fmt.Fprintln(t.out, res.Lines[0].In(o.zone))
	}
	return r
}

// followDrill follows a drill until it has ended and its card shows so. When ctx ends, it cancels the drill.
func (t terminal) followDrill(ctx context.Context, a *app, o lineOptions, d record.Drill) drillResult {
	printed, cancelled := false, false
	for {
		now, err := a.store.Drills.Drill(ctx, d.Account)
		switch {
		case err == nil && now.ID == d.ID:
			d = now
		case err == nil: // another one has begun
			return drillReport(d)
		}
		if posted := !d.Card.Posted.IsZero(); posted && !printed && !o.json {
			printed = true
			fmt.Fprintf(t.out, "%s: the card is in channel %s. Waiting for a click until %s\n", d.Account, d.Card.Channel, d.Until.In(o.zone).Format("15:04:05 MST"))
		}
		if drillDone(d, time.Now()) {
			if d.Waits() {
				d = a.stopDrill(ctx, d)
			}
			return drillReport(d)
		}
		select {
		case <-ctx.Done():
			if cancelled {
				return drillReport(d)
			}
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), drillCancel)
			defer cancel()
			d, cancelled = a.stopDrill(ctx, d), true
		case <-time.After(drillEvery):
		}
	}
}

// drillDone reports whether a drill has ended and its card shows so, or the grace for that is over.
func drillDone(d record.Drill, now time.Time) bool {
	switch {
	case d.Card.Posted.IsZero():
		return now.Sub(d.At) > drillGrace
	case d.Waits():
		return now.Sub(d.Until) > drillGrace
	}
	ended := d.Over
	if d.Claim != nil {
		ended = d.Claim.InHand
	}
	return !d.Card.Shown.IsZero() || now.Sub(ended) > drillGrace
}

// stopDrill cancels a drill and returns it as it is then.
func (a *app) stopDrill(ctx context.Context, d record.Drill) record.Drill {
	ctx, cancel := context.WithTimeout(ctx, drillCancel)
	defer cancel()
	_, err := a.runner.Do(ctx, call.Invocation{
		ID: "stop " + d.ID, At: time.Now(), Actor: osActor(), Line: record.Line{Name: "drill", Words: []string{"stop"}}.With("account", d.Account),
	})
	if err != nil && !errors.Is(err, refusal.ErrNothing) {
		a.log.Error("cancel drill", "account", d.Account, "err", err)
	}
	if now, err := a.store.Drills.Drill(ctx, d.Account); err == nil && now.ID == d.ID {
		return now
	}
	return d
}

func drillReport(d record.Drill) drillResult {
	return drillResult{Account: d.Account, OK: describe.DrillPassed(d), Drill: &d, Steps: describe.DrillSteps(d), NotTried: describe.NotDrilled()}
}

// drillsEnded prints the results of drills.
func (t terminal) drillsEnded(o lineOptions, results []drillResult) int {
	res := call.Result{Data: results}
	for _, r := range results {
		if !r.OK {
			res.Outcome = "failed"
		}
		if r.Drill != nil {
			res.Lines = append(res.Lines, describe.DrillReport(*r.Drill)...)
		}
	}
	return t.show(o, res)
}
