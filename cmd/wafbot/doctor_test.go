package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/cmd/wafbot/doctor"
)

func TestDoctorAtTheTerminal(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "")
	got := typed(t, d.environ, "doctor")
	require.Equal(t, exitDone, got.code, "%+v", got)
	require.Empty(t, got.err)
	require.Contains(t, got.out, "\nok    channel C0WAF0001 #waf: wafbot is in it, for WAFBOT_CHANNEL\n")
	got = typed(t, d.environ, "doctor", "--json", "--post")
	require.Equal(t, exitDone, got.code, "%+v", got)
	require.True(t, decode[doctor.Report](t, got.out).OK)
	require.Len(t, d.Slack.Messages("C0WAF0001"), 1)

	got = typed(t, d.with("WAFBOT_REDIS_URL=redis://"+closedAddress).environ, "doctor", "--json")
	require.Equal(t, exitFailed, got.code)
	require.False(t, decode[doctor.Report](t, got.out).OK)
	require.Contains(t, got.err, "1 thing is wrong; fix it and run doctor again")
	got = typed(t, d.environ, "doctor", "--config", writeConfig(t, "polcy: {}\n"))
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.out, "WRONG config ")
}

func TestDoctorThatIsStoppedSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs strings.Builder
	code := run(ctx, terminal{environ: newLineWorld(t, "").environ, args: []string{"doctor"}, out: &out, err: &errs})
	require.Equal(t, exitFailed, code)
	require.Empty(t, out.String(), "half the findings would look like all")
	require.Contains(t, errs.String(), "stopped before everything was checked")
}
