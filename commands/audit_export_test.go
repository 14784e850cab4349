package commands_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
)

// newTrail is a world whose audit log has a hundred refusals, one a minute.
func newTrail(t *testing.T) *world {
	w := newWorld(t)
	for range 100 {
		w.pass(time.Minute)
		_, err := w.try(ann, fmt.Sprintf("remove 198.51.100.%d", w.ids+1))
		require.ErrorIs(t, err, refusal.ErrNothing)
	}
	require.Equal(t, 100, strings.Count(w.out.String(), "\n"))
	return w
}

func TestAuditExport(t *testing.T) {
	t.Parallel()
	w := newTrail(t)
	w.pass(time.Minute)
	w.does(bob, "deny 203.0.113.250")
	export := func(line string) (lines string, faults int) {
		for item, err := range w.reads(atTerminal, line).Stream {
			if err != nil {
				faults++
				continue
			}
			text, err := json.Marshal(item)
			require.NoError(t, err)
			lines += string(text) + "\n"
		}
		return lines, faults
	}
	all, faults := export("audit export")
	require.Equal(t, w.out.String(), all, "the very lines that were printed")
	require.Zero(t, faults)
	lately, _ := export("audit export since=3m")
	require.Equal(t, 4, strings.Count(lately, "\n"))
	bobs, _ := export("audit export by=bob")
	require.Equal(t, 1, strings.Count(bobs, "\n"))
	w.audit.spoil(7)
	rest, faults := export("audit export")
	require.Equal(t, 100, strings.Count(rest, "\n"))
	require.Equal(t, 1, faults)

	res := w.reads(eve, "audit export since=2h by=bob")
	require.Nil(t, res.Stream)
	require.Contains(t, textOf(res), "wafbot audit export account=acme by=bob since=2h")
	_, err := w.try(eve, "audit exprot")
	require.ErrorIs(t, err, refusal.ErrUsage)
}
