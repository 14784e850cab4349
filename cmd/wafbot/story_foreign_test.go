package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// A service that mixes up its clients' answers shows no client's attacks to another. People are told once, and each account's own attacks are seen.
func TestTheServiceAnswersForAnotherAccount(t *testing.T) {
	mixed := func(w *world) {
		bothAccounts(w)
		require.NoError(t, w.WAF.SetFault(waf.Fault{Kind: "foreign", Every: 3}))
	}
	story(t, mixed, func(t *testing.T, w *world) {
		w.attack(injection())
		w.attack(stuffing())
		w.card("/login")
		w.cardIn("#waf-globex", "/signin")
		const told = "with records of other clients"
		w.message("#waf", "acme "+told)
		w.message("#waf-globex", "globex "+told)
		w.polls(9)
		require.Len(t, w.cards("#waf"), 1)
		require.Len(t, w.cards("#waf-globex"), 1)
		require.Len(t, slices.DeleteFunc(w.Slack.Messages("#waf"), func(m workspace.Message) bool { return !says(m, told) }), 1)
		require.Positive(t, w.metric(`wafbot_account_foreign_records{account="acme"}`))
	})
}
