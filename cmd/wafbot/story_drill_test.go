package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

func TestADrillInSlack(t *testing.T) {
	storyOver(t, eitherWay(), asItIs, func(t *testing.T, w *world) {
		w.types("vic", "drill")
		w.ephemeral("vic", "drill needs the role responder")
		w.types("ann", "drill for=10m")
		w.ephemeral("ann", "DRILL d", "the service isn't touched")
		card := w.message("#waf", "DRILL · nothing is attacked · acme", "Anna Weber tests whether a responder answers")
		w.click("rob", card, "Acknowledge")
		w.ephemeral("rob", "The drill has its answer: thank you")
		report := w.message("#waf", "DRILL of acme: answered by Rob Diaz", "ok from the click until wafbot had it", "ok until the card showed it", "ok the audit log has it (number", "Not tried: changes at the service")
		require.Equal(t, card.TS, report.ThreadTS)
		require.False(t, report.Broadcast)
		w.message("#waf", "DRILL · nothing is attacked · acme", "Rob Diaz answered at")

		w.types("ann", "drill for=1s")
		w.message("#waf", "DRILL of acme: no answer", "FAILED an answer", "ok until the card showed it")
		w.message("#waf", "DRILL · nothing is attacked · acme", "No answer until")
		require.Empty(t, w.sent())
		require.True(t, w.journal.has(`"audit"`, "drill ack=d", `"outcome":"done"`, "U0ROB0002"))
	})
}

// The replica that posted the card is gone when its time is over.
func TestADrillAcrossARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, miniRedis(t), workspace.IngressEither)
	w.start()
	defer func() { w.stop(); w.requireClean() }()
	w.message("#waf", "wafbot watches acme")
	w.types("ann", "drill for=6s")
	w.message("#waf", "DRILL · nothing is attacked")
	w.stop()
	w.start()
	w.message("#waf", "DRILL of acme: no answer")
	require.Len(t, w.shown("#waf"), 2, "one card")
}

// shellOfAll is an environment, with all accounts, in which the user of the operating system may begin drills over the world's Redis.
func (w *world) shellOfAll() []string {
	accounts := ""
	for _, a := range w.cfg.Accounts {
		accounts += "  - {name: " + a.Name + `, api_url: "` + a.APIURL + `", token: ` + a.Token.Reveal() + ", client_id: 5, channel: " + a.Channel + "}\n"
	}
	return []string{"WAFBOT_CONFIG=" + writeConfig(w.t, `
slack: {bot_token: `+w.cfg.Slack.BotToken.Reveal()+`, api_url: "`+w.cfg.Slack.APIURL+`"}
redis: {url: "`+w.redis.url+`"}
accounts:
`+accounts+`sources: []
policy: {changes: on, terminal: {`+osActor().Name+`: responder}}
`)}
}

func TestADrillFromTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, miniRedis(t), workspace.IngressEither)
	none := typed(t, w.shellOfAll(), "drill")
	require.Equal(t, exitFailed, none.code)
	require.Contains(t, none.err, "No wafbot serve is running on this Redis")

	all, err := demoConfig(w.World)
	require.NoError(t, err)
	w.cfg.Accounts = all.Accounts
	w.start()
	defer func() { w.stop(); w.requireClean() }()
	w.message("#waf", "wafbot watches acme")
	drill := start(t, w.shellOfAll(), "drill", "for=1m", "account=acme")
	require.Contains(t, drill.line(t), "DRILL d")
	require.Contains(t, drill.line(t), "acme: the card is in channel "+w.cfg.Accounts[0].Channel+". Waiting for a click until")
	w.click("rob", w.message("#waf", "DRILL · nothing is attacked"), "Acknowledge")
	require.Contains(t, drill.line(t), "DRILL of acme: answered by Rob Diaz")
	var rest []string
	for line := ""; !strings.Contains(line, "Not tried"); rest = append(rest, line) {
		line = drill.line(t)
	}
	left := drill.stop()
	require.Equal(t, exitDone, left.code, left.err)
	require.NotContains(t, strings.Join(rest, "\n"), "FAILED")

	got := typed(t, w.shellOfAll(), "drill", "for=1s", "--json")
	require.Equal(t, exitFailed, got.code, got.err)
	result := decode[struct {
		Outcome string
		Lines   []string
		Data    []struct {
			OK       bool
			Account  string
			NotTried []string `json:"not_tried"`
			Steps    []struct {
				Name string
				OK   bool
				Took time.Duration `json:"took_ns"`
			}
			Drill json.RawMessage
		}
	}](t, got.out)
	require.Equal(t, "failed", result.Outcome)
	require.Contains(t, strings.Join(result.Lines, "\n"), "no answer")
	require.Len(t, result.Data, len(w.cfg.Accounts), "one in each account")
	for i, each := range result.Data {
		require.Equal(t, w.cfg.Accounts[i].Name, each.Account)
		require.False(t, each.OK)
		require.NotEmpty(t, each.NotTried)
		require.Equal(t, "an answer", each.Steps[3].Name)
	}

	begun := start(t, w.shellOfAll(), "drill", "account=acme")
	require.Contains(t, begun.line(t), "DRILL d")
	begun.line(t)
	given := begun.stop() // no drill waits any more
	require.Equal(t, exitFailed, given.code)
	require.Contains(t, given.out, "FAILED an answer (none within ")
	require.Contains(t, given.out, "ok until the card showed it", "that it was called off is waited for")
	require.Contains(t, given.out, "ok the audit log has it")
	w.message("#waf", "DRILL · nothing is attacked · acme", "Called off")
}

func TestADrillInTheSandbox(t *testing.T) {
	t.Parallel()
	got := typed(t, nil, "drill", "--sandbox") // it needs no configuration
	require.Equal(t, exitDone, got.code, "%+v", got)
	require.Equal(t, 9, strings.Count(got.out, "\nok ")+1, got.out)
	require.NotContains(t, got.out, "FAILED")
	require.Contains(t, got.out, "Not tried: your configuration")
	got = typed(t, nil, "drill", "--sandbox", "--json")
	require.Equal(t, exitDone, got.code)
	result := decode[struct {
		Outcome string
		Data    struct{ Steps []json.RawMessage }
	}](t, got.out)
	require.Equal(t, "done", result.Outcome)
	require.Len(t, result.Data.Steps, 9)
}
