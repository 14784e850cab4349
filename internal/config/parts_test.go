package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
)

func TestSummaryHours(t *testing.T) {
	t.Parallel()
	daily := config.Summary{At: "08:00"}
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	at := func(text string) time.Time {
		moment, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
		require.NoError(t, err)
		return moment
	}
	for _, tt := range []struct{ now, last, next string }{
		{"2026-11-21 08:00", "2026-11-21 08:00", "2026-11-22 08:00"},
		{"2026-11-21 07:59", "2026-11-20 08:00", "2026-11-21 08:00"},
		{"2026-11-30 23:59", "2026-11-30 08:00", "2026-12-01 08:00"},
		{"2026-10-24 12:00", "2026-10-24 08:00", "2026-10-25 08:00"}, // the clocks go back in that night
	} {
		last, next := daily.Around(at(tt.now))
		require.True(t, last.Equal(at(tt.last)) && next.Equal(at(tt.next)), "%s: %s, %s", tt.now, last, next)
	}
	_, next := daily.Around(at("2026-10-24 12:00"))
	require.Equal(t, 21*time.Hour, next.Sub(at("2026-10-24 12:00")))
}
