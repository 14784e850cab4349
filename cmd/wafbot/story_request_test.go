package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// One id leads from a click through every call of the service and of Slack that came of it, in the log and in the audit entry: also those that are made
// after it was answered, by what notifies and redraws.
func TestOneRequestInTheLog(t *testing.T) {
	story(t, func(w *world) { w.cfg.Log.Level = "debug" }, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card("SQL injection", attacker)
		card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "Deny "+attacker+" everywhere for 4 h: accepted by the service")
		entry := regexp.MustCompile(`\{"audit":\{[^\n]*"outcome":"done"[^\n]*"request_id":"(\w+)"`)
		w.until("an audit entry", func() bool { return entry.MatchString(w.journal.String()) })
		id := entry.FindStringSubmatch(w.journal.String())[1]
		for _, call := range []string{`msg="called the service" account=acme call="add to IP list"`, "method=chat.update", "method=chat.postMessage"} {
			w.until(call, func() bool { return w.journal.has(call, "request_id="+id) })
		}
		w.types("vic", "deny 203.0.113.9")
		w.ephemeral("vic", "responder")
		w.until("another", func() bool { return strings.Contains(w.journal.String(), `"outcome":"refused"`) })
		refused := regexp.MustCompile(`"outcome":"refused"[^\n]*"request_id":"(\w+)"`).FindStringSubmatch(w.journal.String())
		require.NotNil(t, refused)
		require.NotEqual(t, id, refused[1])
	})
}
