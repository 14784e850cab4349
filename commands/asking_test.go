package commands_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/human"
)

// asks is a delivery of its own.
func (w *world) asks(who record.Actor, line string) call.Invocation {
	w.t.Helper()
	l, err := grammar.Parse(line)
	require.NoError(w.t, err)
	at := w.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	return call.Invocation{Line: l, Actor: who, ID: fmt.Sprintf("delivery %d", w.ids), At: at}
}

func (w *world) do(inv call.Invocation) (call.Result, error) {
	res, err := w.Do(w.t.Context(), inv)
	if err != nil {
		require.NotContains(w.t, err.Error(), token)
	}
	return res, err
}

// Do is the runner's, and holds that what a person reads of it is for people. What the person typed is no wording of
// wafbot's.
func (w *world) Do(ctx context.Context, inv call.Invocation) (call.Result, error) {
	w.t.Helper()
	res, err := w.Runner.Do(ctx, inv)
	said, _ := call.ForPeople(inv, err)
	for _, words := range []string{said.String(), textOf(res), res.Document} {
		if found := human.Inside(words); !strings.Contains(inv.Line.String(), found) {
			assert.Empty(w.t, found, words)
		}
	}
	return res, err
}

func (w *world) try(who record.Actor, line string) (call.Result, error) {
	w.t.Helper()
	return w.do(w.asks(who, line))
}

// does expects one change, made.
func (w *world) does(who record.Actor, line string) record.Change {
	w.t.Helper()
	res, err := w.try(who, line)
	require.NoError(w.t, err)
	require.Equal(w.t, "done", res.Outcome, textOf(res))
	require.Len(w.t, res.Changes, 1)
	return res.Changes[0]
}

// anyway does it in spite of its warnings, which there must be.
func (w *world) anyway(who record.Actor, line string) record.Change {
	w.t.Helper()
	inv := w.asks(who, line)
	_, err := w.do(inv)
	require.ErrorIs(w.t, err, refusal.ErrAsk)
	inv.Anyway = true
	res, err := w.do(inv)
	require.NoError(w.t, err)
	require.Len(w.t, res.Changes, 1)
	return res.Changes[0]
}

// insists does it whatever warns of it.
func (w *world) insists(who record.Actor, line string) record.Change {
	w.t.Helper()
	inv := w.asks(who, line)
	inv.Anyway = true
	res, err := w.do(inv)
	require.NoError(w.t, err)
	require.Len(w.t, res.Changes, 1)
	return res.Changes[0]
}

// refuses expects a refusal of that kind with those words, and that nothing was sent.
func (w *world) refuses(who record.Actor, line string, kind error, words ...string) {
	w.t.Helper()
	before := w.changesSent()
	_, err := w.try(who, line)
	require.ErrorIs(w.t, err, kind)
	said, fault := call.ForPeople(call.Invocation{}, err)
	require.False(w.t, fault)
	for _, word := range words {
		require.Contains(w.t, said.String(), word)
	}
	require.Equal(w.t, before, w.changesSent(), "nothing may be sent")
}

// asksInSpiteOfYes expects a question although all were answered with yes beforehand, as by -y at a terminal, and that
// nothing was sent.
func (w *world) asksInSpiteOfYes(who record.Actor, line string) {
	w.t.Helper()
	before := w.changesSent()
	inv := w.asks(who, line)
	inv.Yes = true
	_, err := w.do(inv)
	require.ErrorIs(w.t, err, refusal.ErrAsk, line)
	require.Equal(w.t, before, w.changesSent(), "nothing may be sent")
}

// waits expects that it needs a second person, whose request is written down, and that nothing was sent. Warnings were
// seen.
func (w *world) waits(who record.Actor, line string, words ...string) record.ApprovalRequest {
	w.t.Helper()
	before := w.changesSent()
	inv := w.asks(who, line)
	inv.Anyway = true
	res, err := w.do(inv)
	require.NoError(w.t, err, line)
	require.Equal(w.t, "waiting", res.Outcome, textOf(res))
	for _, word := range append(words, "Waiting for approval") {
		require.Contains(w.t, textOf(res), word)
	}
	require.Equal(w.t, before, w.changesSent(), "nothing may be sent")
	return res.Data.(record.ApprovalRequest)
}

// nothing expects that all of it is so already, and that nothing was sent.
func (w *world) nothing(who record.Actor, line string, words ...string) {
	w.t.Helper()
	before := w.changesSent()
	res, err := w.try(who, line)
	said := textOf(res)
	if err != nil {
		require.ErrorIs(w.t, err, refusal.ErrNothing)
		said = err.Error()
	} else {
		require.Equal(w.t, "nothing", res.Outcome, said)
	}
	if who.Via != record.ViaClock { // which reads no answer
		require.Regexp(w.t, "^(Refused: |Done, nothing to change. )", said)
	}
	for _, word := range words {
		require.Contains(w.t, said, word)
	}
	require.Equal(w.t, before, w.changesSent(), "nothing may be sent")
}

// reads expects an answer.
func (w *world) reads(who record.Actor, line string) call.Result {
	w.t.Helper()
	res, err := w.try(who, line)
	require.NoError(w.t, err)
	return res
}
