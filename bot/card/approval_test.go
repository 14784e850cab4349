package card

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// policy is one with a way out.
func wayOut() policy.Policy {
	return policy.Policy{Policy: config.Policy{
		Changes:  config.ChangesOn,
		Approval: config.Approval{Approvers: "S0LEADS", Timeout: 15 * time.Minute, OverrideAfter: 5 * time.Minute},
	}}
}

// waiting is a request of two minutes ago.
func waiting() record.ApprovalRequest {
	at := now.Add(-2 * time.Minute)
	return record.ApprovalRequest{
		ID: "r7k2m9xw4", Account: "acme", Line: record.Line{Name: "deny", Words: []string{"203.0.0.0/20", "country:FR"}}.With("for", "4h"),
		Does: "Deny 203.0.0.0/20, country:FR everywhere for 4 h", AttackID: "ak7q2m9xw", Role: record.Responder, Asker: anna(), Reason: "they all come from there",
		Needs: []record.ApprovalReason{
			{What: config.ApproveBroad, Why: "203.0.0.0/20 is wider than /24"},
			{What: config.ApproveBroad, Why: "country:FR is broad: it hits everybody there, and wafbot sees attacks, never visitors"},
		},
		At: at, Until: at.Add(15 * time.Minute), OverrideAt: at.Add(5 * time.Minute), State: record.RequestWaiting, Revision: 1,
		Reach:    []string{"203.0.0.0/20 is 4,096 addresses, everywhere"},
		Warnings: []string{"203.0.1.0/24 is on the allowlist everywhere until 2026-11-21 04:00 UTC, which wins: there it has no effect"},
	}
}

func requestMessages() map[string]Message {
	bob := record.Actor{ID: "U0BOB", Name: "Bob Ruiz", Via: record.ViaButton}
	with := func(change func(q *record.ApprovalRequest)) record.ApprovalRequest {
		q := waiting()
		change(&q)
		return q
	}
	decided := func(state record.RequestState, outcome, why, fault string) record.ApprovalRequest {
		return with(func(q *record.ApprovalRequest) {
			q.State, q.Decided, q.DecidedAt, q.Outcome, q.Why, q.Fault = state, &bob, now, outcome, why, fault
		})
	}
	overridden := decided(record.RequestOverridden, "done", "no answer, shop is down", "")
	overridden.Decided = &overridden.Asker
	failed := overridden
	failed.Outcome, failed.Fault = "failed", "NOT done: Deny 203.0.0.0/20, country:FR everywhere for 1 h: the service doesn't allow this to wafbot's token"
	never := with(func(q *record.ApprovalRequest) { q.OverrideAt = time.Time{} })
	terminal := with(func(q *record.ApprovalRequest) {
		q.Asker = record.Actor{ID: "cli:ann", Name: "ann", Via: record.ViaCLI}
		q.Warnings, q.Reason = nil, ""
	})
	all := map[string]record.ApprovalRequest{
		"waiting": waiting(), "waiting-never-override": never, "waiting-terminal": terminal,
		"in-hand": decided(record.RequestApproved, "", "", ""), "approved": decided(record.RequestApproved, "done", "", ""),
		"approved-failed":  decided(record.RequestApproved, "failed", "", "NOT done: Deny 203.0.0.0/20, country:FR everywhere for 4 h: the service doesn't allow this to wafbot's token"),
		"approved-nothing": decided(record.RequestApproved, "nothing", "", ""), "rejected": decided(record.RequestRejected, "", "half of our users are there", ""),
		"closed": decided(record.RequestClosed, "", "by now 203.0.0.0/20 is on the denylist (by Zoe), which it would overwrite", ""), "override": overridden, "override-failed": failed,
		"expired": with(func(q *record.ApprovalRequest) { q.State, q.DecidedAt = record.RequestExpired, q.Until }),
	}
	messages := map[string]Message{}
	for name, q := range all {
		messages[name] = ApprovalRequest(q, wayOut(), now)
	}
	messages["waiting-opened"] = ApprovalRequest(waiting(), wayOut(), now.Add(4*time.Minute))
	messages["waiting-over"] = ApprovalRequest(waiting(), wayOut(), now.Add(15*time.Minute))
	for _, name := range []string{"approved", "approved-failed", "rejected", "closed", "expired", "override", "override-failed"} {
		messages["decided-"+name] = ApprovalDecision(all[name], wayOut(), now)
	}
	return messages
}

func TestRenderRequests(t *testing.T) {
	t.Parallel()
	messages := requestMessages()
	for name, msg := range messages {
		require.LessOrEqual(t, len(msg.Text), maxNotice, name)
	}
	golden(t, filepath.Join("testdata", "request", "notifications.txt"), goldenMessages(t, "request", messages))
}

func TestARequestsButtons(t *testing.T) {
	t.Parallel()
	messages := requestMessages()
	labels := func(name string) (all []string) {
		for _, b := range buttonsOf(messages[name].Blocks) {
			all = append(all, b.Text.Text+": "+b.Value)
		}
		return all
	}
	both := []string{"Approve: approve r7k2m9xw4 account=acme", "Reject: reject r7k2m9xw4 account=acme"}
	require.Equal(t, both, labels("waiting"))
	require.Equal(t, append(both, "Override…: override r7k2m9xw4 account=acme"), labels("waiting-opened"))
	for _, over := range []string{"in-hand", "approved", "rejected", "closed", "expired", "override", "waiting-over"} {
		require.Empty(t, labels(over), over)
	}
}
