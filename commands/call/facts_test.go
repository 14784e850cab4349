package call_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/verb"
)

// What nobody asked for is an error, never taken for there being nothing; what is known is nothing is.
func TestAFactThatWasNotReadIsNoFact(t *testing.T) {
	t.Parallel()
	var f call.Facts
	_, err := f.Rules.Get()
	require.EqualError(t, err, "read a fact that its command doesn't need")
	f.Rules.Fact = call.Known[[]apiclient.Rule](nil)
	rules, err := f.Rules.Get()
	require.NoError(t, err)
	require.Empty(t, rules)
	f.Rules.Err = errors.New("away")
	_, err = f.Rules.Get()
	require.EqualError(t, err, "away")
}

func TestAFactIsReadOnceForTheSameNeed(t *testing.T) {
	t.Parallel()
	var f call.Facts
	var none apiclient.AttackFilter
	since := apiclient.AttackFilter{From: time.Unix(1, 0)}
	require.False(t, call.Ask(&f.Attacks.Fact, none), "not needed")
	require.True(t, call.Ask(&f.Attacks.Fact, since))
	require.False(t, call.Ask(&f.Attacks.Fact, since), "it is being read")
	require.False(t, call.Ask(&f.Attacks.Fact, none), "what was read stays")
	since.IncidentsOnly = true
	require.True(t, call.Ask(&f.Attacks.Fact, since), "another need")
	require.True(t, call.Ask(&f.Outages.Fact, call.Ever), "all of a log is a need, too")
	f.Triage = call.KnownFor("a1", f.Triage.Value)
	require.False(t, call.Ask(&f.Triage, "a1"), "it is at hand")
	require.True(t, call.Ask(&f.Triage, "a2"))
}

func TestAListMayBeAltered(t *testing.T) {
	t.Parallel()
	var f call.Facts
	f.Rules.Fact = call.Known([]apiclient.Rule{{ID: 1}})
	all, err := f.Rules.Get()
	require.NoError(t, err)
	all[0].ID = 2
	require.EqualValues(t, 1, f.Rules.Value[0].ID)
}

func TestNoCommandReadsInMoreThanTwoRounds(t *testing.T) {
	t.Parallel()
	for _, cmd := range verb.All() {
		require.LessOrEqual(t, len(cmd.Needs), 2, cmd.Name)
	}
}
