package words_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
)

func TestShared(t *testing.T) {
	t.Parallel()
	for n, shared := range map[record.SourceActivity]bool{
		{Attacks: 10, Apps: 3, Types: 3, Hours: 6}: true, {Attacks: 2088, Apps: 3, Types: 5, Hours: 2}: false, {Attacks: 900, Apps: 2, Types: 5, Hours: 20}: false,
		{Attacks: 900, Apps: 5, Types: 1, Hours: 20}: false, {}: false,
	} {
		require.Equal(t, shared, words.LikelyShared(n), n)
	}
	a, ip := apiclient.Attack{Sources: []apiclient.Source{{IP: netip.MustParseAddr("203.0.113.7")}}}, netip.MustParseAddr("203.0.113.7")
	require.Equal(t, "also in 12 other attacks, on 3 applications in all",
		words.Elsewhere(record.SourceActivity{Attacks: 13, Apps: 3}, a, ip))
	require.Equal(t, "also in 1 other attack", words.Elsewhere(record.SourceActivity{Attacks: 2, Apps: 1}, a, ip))
	require.Empty(t, words.Elsewhere(record.SourceActivity{Attacks: 1, Apps: 1}, a, ip))
	require.Equal(t, "also in 2 other attacks", words.Elsewhere(record.SourceActivity{Attacks: 3}, a, ip),
		"the service didn't say where")
	a.State = "falsepositive"
	require.Equal(t, "also in 3 other attacks", words.Elsewhere(record.SourceActivity{Attacks: 3, Apps: 1}, a, ip),
		"which isn't counted itself")
}
