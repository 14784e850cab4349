package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// lags has the service list what it was ten seconds ago: longer than people take to change their minds.
func lags(w *world) {
	for _, listing := range []string{"GET /v4/ip_rules", "POST /v1/objects/hint", "POST /v1/objects/action"} {
		require.NoError(w.t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: listing, Kind: "lagging"}))
	}
}

// What was done a moment ago and isn't listed yet is taken back for certain.
func TestUndoAtOnceWhileListingsLag(t *testing.T) {
	story(t, lags, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "Deny "+attacker, "accepted by the service")
		card.undo("rob", "Deny "+attacker)
		card.undone("Rob Diaz")
		require.Empty(t, w.entries("acme"))

		w.types("rob", "patch attack="+card.id())
		w.ephemeral("rob", "Patch exactly POST shop.example.com/login", "accepted by the service")
		require.Len(t, w.rules("acme", "vpatch"), 1)
		card.undo("rob", "Patch exactly")
		w.ephemeral("rob", "Undo of: Patch exactly", "accepted by the service")
		require.Empty(t, w.rules("acme", "vpatch"))

		w.types("rob", "deny 198.51.100.9")
		w.ephemeral("rob", "Deny 198.51.100.9", "accepted by the service")
		w.types("ann", "deny 198.51.100.9 for=1h")
		w.ephemeral("ann", "Done, nothing to change. 198.51.100.9 is denied already")
		w.types("rob", "remove 198.51.100.9")
		w.ephemeral("rob", "Take 198.51.100.9 off the denylist", "accepted by the service")
		require.Empty(t, w.entries("acme"))
		w.types("rob", "remove 198.51.100.9")
		w.ephemeral("rob", "198.51.100.9 is on no list")
	})
}

// A patch whose answer was lost could be made twice: wafbot waits until the listing shows it, and says since when it
// isn't confirmed.
func TestAPatchIsVerifiedWhileListingsLag(t *testing.T) {
	story(t, lags, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: "POST /v1/objects/hint/create", Kind: "500_applied", Times: 1}))
		w.types("rob", "patch attack="+card.id())
		card.says("Patch POST shop.example.com/login, Shop only", "being verified")
		w.types("ann", "attack "+card.id())
		w.ephemeral("ann", "Patch exactly POST shop.example.com/login", "being verified")
		w.ephemeral("rob", "Patch exactly POST shop.example.com/login", "accepted by the service")
		card.says("Patch POST shop.example.com/login, Shop", "until")
		require.NotContains(t, card.now().Plain(), "being verified")
		require.Len(t, w.rules("acme", "vpatch"), 1)
	})
}

// Several countries are one entry. One of them is taken off without the others ever being off the list.
func TestOneOfSeveralCountriesIsTakenOff(t *testing.T) {
	prepare := func(w *world) {
		lags(w)
		w.cfg.Policy.Approval.RequiredFor = nil
	}
	story(t, prepare, func(t *testing.T, w *world) {
		w.types("rob", "deny country:FR country:NL country:DE")
		w.confirms("rob", "Deny country:FR, country:NL, country:DE")
		w.ephemeral("rob", "Deny country:FR, country:NL, country:DE", "accepted by the service")
		require.Len(t, w.sent(), 1, "one request")
		w.types("rob", "remove country:NL")
		w.ephemeral("rob", "Take country:NL off the denylist", "accepted by the service")
		sent := w.sent()
		require.Len(t, sent, 3)
		require.Equal(t, []string{http.MethodPost, http.MethodDelete}, []string{sent[1].Method, sent[2].Method})
		require.Len(t, w.entries("acme"), 1)
		require.Equal(t, []string{"DE", "FR"}, w.entries("acme")[0].SourceValues)

		w.types("rob", "deny country:ES for=1h")
		w.confirms("rob", "Deny country:ES")
		w.ephemeral("rob", "Deny country:ES", "accepted by the service")
		w.types("rob", "undo")
		w.ephemeral("rob", "Undo of: Deny country:ES")
		require.Len(t, w.entries("acme"), 1)
	})
}
