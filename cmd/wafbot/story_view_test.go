package main

import (
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// sees waits until the modal that a user sees says all the parts.
func (w *world) sees(user string, parts ...string) (seen workspace.View) {
	w.t.Helper()
	w.until(user+" sees: "+strings.Join(parts, ", "), func() bool {
		v := w.Slack.OpenView(user)
		if v == nil {
			return false
		}
		seen = *v
		return hasAll(bare(v.Plain()), parts)
	})
	return seen
}

// submits fills in the modal that a user sees and sends it off, again where a machine too busy to check it in time asks for that.
func (w *world) submits(user string, values map[string]any) workspace.Submitted {
	w.t.Helper()
	for range 20 {
		s := w.submitsOnce(user, values)
		if s.Outcome != workspace.OutcomePushed {
			return s
		}
		if said := w.Slack.OpenView(user).Plain(); !strings.Contains(said, "Send it again in a moment") && !strings.Contains(said, "type it again") {
			return s
		}
		w.leaves(user)
	}
	w.t.Fatal("a form is never looked at in time")
	return workspace.Submitted{}
}

func (w *world) submitsOnce(user string, values map[string]any) workspace.Submitted {
	w.t.Helper()
	s, err := w.Slack.Submit(w.t.Context(), workspace.Submission{User: user, Values: values})
	require.NoError(w.t, err)
	require.Empty(w.t, s.Warning)
	if s.Outcome != workspace.OutcomeIncomplete {
		require.Equal(w.t, http.StatusOK, s.Status, "%+v", s)
	}
	return s
}

// checked submits a form that can't be taken as it is. A machine too busy to check in time takes it all the same, and says what is wrong afterwards:
// then it is opened again.
func (w *world) checked(user string, open func(), values map[string]any) workspace.Submitted {
	w.t.Helper()
	for range 5 {
		s := w.submits(user, values)
		if s.Outcome != workspace.OutcomeCleared && s.Outcome != workspace.OutcomeClosed {
			return s
		}
		open()
	}
	w.t.Fatal("a form is never looked at in time")
	return workspace.Submitted{}
}

// confirms waits for a question and answers it with yes. On a machine too busy to show a view in time it is asked in a message.
func (w *world) confirms(user string, parts ...string) {
	w.t.Helper()
	const yes = "Do it anyway"
	w.until(user+" is asked: "+strings.Join(parts, ", "), func() bool {
		return w.Slack.OpenView(user) != nil || len(w.ephemerals(user, append(parts, yes)...)) > 0
	})
	if asked := w.ephemerals(user, append(parts, yes)...); w.Slack.OpenView(user) == nil {
		w.click(user, asked[len(asked)-1], yes)
		return
	}
	w.sees(user, parts...)
	require.Equal(w.t, workspace.OutcomeCleared, w.submits(user, nil).Outcome)
}

// presses clicks a button of the modal that a user sees.
func (w *world) presses(user, button string) {
	w.t.Helper()
	d, err := w.Slack.Click(w.t.Context(), workspace.Click{User: user, View: "modal", Button: button})
	w.acknowledged(d, err)
}

// opens clicks a button of a card that opens a view, and waits for what is in it.
func (c shownCard) opens(user, button string, parts ...string) workspace.View {
	c.w.t.Helper()
	c.click(user, button)
	c.w.until("a view", func() bool {
		v := c.w.Slack.OpenView(user)
		return v != nil && !strings.Contains(v.Plain(), "Loading …")
	})
	return c.w.sees(user, parts...)
}

// leaves closes the modal that a user sees.
func (w *world) leaves(user string) {
	w.t.Helper()
	_, err := w.Slack.CloseView(w.t.Context(), workspace.Closing{User: user})
	require.NoError(w.t, err)
}

// learns waits for a refusal: an ephemeral message, or in the view that was opened where it took too long to find out who asks.
func (w *world) learns(user, refusal string) {
	w.t.Helper()
	w.until(user+" learns: "+refusal, func() bool {
		v := w.Slack.OpenView(user)
		return len(w.ephemerals(user, refusal)) > 0 || v != nil && strings.Contains(bare(v.Plain()), refusal)
	})
}
