package main

import (
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/clock"
)

// A replica whose machine's clock is an hour ahead takes clicks, and what it denies ends when it should. It says that its clock is wrong.
func TestAMachineWhoseClockIsAnHourAhead(t *testing.T) {
	ahead := func(w *world) { w.clocks = clock.NewAhead(time.Hour) }
	story(t, ahead, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card("SQL injection", attacker)
		began := time.Now()
		card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "Deny "+attacker+" everywhere for 4 h: accepted by the service", "by Rob Diaz")
		ends := w.expires(attacker + "/32")
		require.WithinRange(t, ends, began.Add(4*time.Hour-time.Second), time.Now().Add(4*time.Hour+time.Second), "by the service's clock, in whole seconds")
		card.shows(ends)
		w.types("ann", "deny 198.51.100.96/28 for=1h attack="+card.id())
		w.ephemeral("ann", "Deny 198.51.100.96/28 everywhere for 1 h: accepted")

		w.until("a warning", func() bool {
			return w.journal.has("this machine's clock and redis' are apart", "ahead=1h0m0s")
		})
		status, _ := w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
		_, metrics := w.get("/metrics")
		for _, against := range []string{"redis", "service"} {
			require.InDelta(t, -time.Hour.Seconds(), clockOffset(t, metrics, against), 5, against)
		}
	})
}

// clockOffset is what /metrics says of how far a clock is from the machine's, in seconds.
func clockOffset(t *testing.T, metrics, against string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^wafbot_clock_offset_seconds\{against="` + against + `"\} (\S+)$`).FindStringSubmatch(metrics)
	require.NotNil(t, found, against)
	offset, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return offset
}
