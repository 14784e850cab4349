package workspace_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

func TestWhatAnAcknowledgementDoesToAModal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, ack string
		outcome   workspace.Outcome
		warning   string
		seen      string // callback id of what is seen then
	}{
		{"nothing", "", workspace.OutcomeClosed, "", ""},
		{"empty object", "{}", workspace.OutcomeClosed, "", ""},
		{"clear", `{"response_action":"clear"}`, workspace.OutcomeCleared, "", ""},
		{"errors", `{"response_action":"errors","errors":{"b":"Not so."}}`, workspace.OutcomeErrors, "", "first"},
		{"errors elsewhere", `{"response_action":"errors","errors":{"nowhere":"Not so."}}`, workspace.OutcomeFailed, "block_id of an input", "first"},
		{"no errors", `{"response_action":"errors"}`, workspace.OutcomeFailed, "without errors", "first"},
		{"update", `{"response_action":"update","view":` + simple("second") + `}`, workspace.OutcomeUpdated, "", "second"},
		{"push", `{"response_action":"push","view":` + simple("second") + `}`, workspace.OutcomePushed, "", "second"},
		{"bad view", `{"response_action":"update","view":{"type":"modal","blocks":[]}}`, workspace.OutcomeFailed, "missing required field: title", "first"},
		{"unknown", `{"response_action":"close"}`, workspace.OutcomeFailed, "no such response_action", "first"},
		{"not JSON", "OK", workspace.OutcomeFailed, "We had some trouble connecting", "first"},
		{"other JSON", `{"text":"done"}`, workspace.OutcomeFailed, "no response_action", "first"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			w.open(t, simple("first"))
			w.bot.will(200, tt.ack)
			s := w.submit(t, map[string]any{"Text": "kept"})
			require.Equal(t, tt.outcome, s.Outcome, s.Warning)
			require.Contains(t, s.Warning, tt.warning)
			require.Equal(t, tt.warning == "", s.Warning == "")
			if tt.seen == "" {
				require.Nil(t, w.OpenView("ann"))
				return
			}
			require.Equal(t, tt.seen, s.View.CallbackID)
			if tt.outcome == workspace.OutcomeErrors {
				require.Equal(t, map[string]string{"Text": "Not so."}, s.Errors)
				require.Equal(t, "first\nText (optional): [kept] (!) Not so.\n[Go]", s.View.Plain())
			}
		})
	}
	w := start(t)
	w.open(t, simple("first"))
	w.bot.will(500, "")
	s := w.submit(t, nil)
	require.Equal(t, []any{workspace.OutcomeFailed, "the app answered 500"}, []any{s.Outcome, s.Warning})
	require.NotNil(t, s.View, "it stays, with what was filled in")
}

// opens makes the bot of a bubble open a modal for ann, over a link.
func (b *bubble) opens(s *socket, view string) {
	b.t.Helper()
	go func() { _, _ = b.Command(b.t.Context(), workspace.Command{User: "ann", Channel: "#waf"}) }()
	asked := s.next()
	s.ack(asked)
	answer := b.call("views.open", token, fmt.Sprintf(`{"trigger_id":%q,"view":%s}`, asked.Payload["trigger_id"], view))
	require.Equal(b.t, true, answer["ok"], "%v", answer)
}

// submits sends ann's modal off and answers with the payload given, or not at all when it is empty.
func (b *bubble) submits(s *socket, payload string) workspace.Submitted {
	b.t.Helper()
	done := make(chan workspace.Submitted, 1)
	go func() {
		submitted, err := b.Submit(b.t.Context(), workspace.Submission{User: "ann"})
		require.NoError(b.t, err)
		done <- submitted
	}()
	got := s.next()
	require.Equal(b.t, []any{"interactive", "view_submission", true}, []any{got.Type, got.Payload["type"], got.AcceptsResponsePayload})
	if payload != "" {
		s.send(fmt.Sprintf(`{"envelope_id":%q,"payload":%s}`, got.EnvelopeID, payload))
	}
	return <-done
}

func TestSubmissionsOverALink(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		b.opens(s, simple("first"))
		submitted := b.submits(s, `{"response_action":"errors","errors":{"b":"Not so."}}`)
		require.Equal(b.t, workspace.OutcomeErrors, submitted.Outcome)
		require.Equal(b.t, map[string]string{"Text": "Not so."}, submitted.Errors)

		before := b.passed()
		huge := `{"response_action":"errors","errors":{"b":"` + strings.Repeat("x", 20_000) + `"}}`
		submitted = b.submits(s, huge)
		require.Equal(b.t, []any{workspace.OutcomeFailed, "the app did not respond"}, []any{submitted.Outcome, submitted.Warning}, "it was dropped")
		require.Equal(b.t, 3*time.Second, b.passed()-before)
		submitted = b.submits(s, "")
		require.Equal(b.t, workspace.OutcomeFailed, submitted.Outcome)
		require.NotNil(b.t, submitted.View)
		submitted = b.submits(s, `{"response_action":"update","view":`+simple("second")+`}`)
		require.Equal(b.t, "second", submitted.View.CallbackID)
		submitted = b.submits(s, `{}`)
		require.Equal(b.t, workspace.OutcomeClosed, submitted.Outcome)
		synctest.Wait()
	})
}

func TestASubmissionOverBothWaysTakesTheAnswerThatSaysSomething(t *testing.T) {
	var requests chan *http.Request
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		require.NoError(b.t, b.SetIngress(workspace.IngressSocket))
		b.opens(s, simple("first"))
		require.NoError(b.t, b.SetIngress(workspace.IngressBoth))
		submitted := b.submits(s, `{"response_action":"errors","errors":{"b":"Not so."}}`)
		require.Equal(b.t, workspace.OutcomeErrors, submitted.Outcome)
		require.Empty(b.t, submitted.Warning, "the request failed, unseen")
		submitted = b.submits(s, `{"response_action":"update","view":`+simple("second")+`}`)
		require.Equal(b.t, workspace.OutcomeUpdated, submitted.Outcome, "the request was answered with nothing")
	}, answering(&requests, http.StatusInternalServerError, http.StatusOK))
}
