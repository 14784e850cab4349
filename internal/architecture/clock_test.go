package architecture_test

import (
	"go/ast"
	"path"
	"testing"

	"github.com/stretchr/testify/require"
)

// timed are the folders and files that may ask the machine's clock, and what for: for how long something lasts within
// this process, which a clock that is wrong or is set doesn't change. What is stored, compared with what is stored, or
// shown comes of internal/clock.
var timed = map[string]string{
	"internal/clock": "it knows how far the machine's clock is off",
	"apiclient":      "when a request was sent, and Retry-After of a sender that doesn't say the time",

	"bot/server.go":        "how long an acknowledgement takes",
	"bot/worker.go":        "how long a request has been in this replica's hands",
	"bot/slackconn":        "pauses, caches and deadlines of connections",
	"bot/notify/doubt.go":  "when a channel was read, and when a message in doubt is verified",
	"bot/notify/lane.go":   "how long an event is in hand",
	"bot/notify/load.go":   "a pause",
	"bot/notify/notify.go": "a pause",
	"bot/notify/post.go":   "when a message was sent",
	"bot/notify/queue.go":  "how long an event waits",

	"commands/paging/page.go": "pauses between tries",
	"poller/cap.go":           "how long a poll takes",
	"poller/poll.go":          "how long a poll takes, how often everything is read, and how long polls have failed",

	"internal/store/beat.go":  "when Redis was asked; names that sort by age where clocks agree, which is all the same where they don't",
	"internal/store/claim.go": "how long a claim is surely held",
	"internal/store/facts.go": "how long a round trip takes",
	"internal/store/lease.go": "how long a lease is surely held",
	"internal/store/share.go": "how long a lease is surely held",
	"internal/store/shard.go": "how long a shard is surely held",

	"internal/config/sources.go": "how old a file is, whose time is the machine's, too",
	"cmd/wafbot/doctor":          "how long an answer takes",
	"internal/redistest":         "how long a server takes to start",
	"internal/sandbox":           "the emulated world has its own clock",
}

func TestDecisionsDontGoByTheMachinesClock(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, s := range sources(t) {
		for name, file := range s.files {
			if !asksTheTime(file) {
				continue
			}
			place := path.Join(s.name(), name)
			for timed[place] == "" && place != "." {
				place = path.Dir(place)
			}
			require.NotEqual(t, ".", place, "%s/%s asks the machine's clock, which may be wrong: ask internal/clock, or add the file to the table with its reason", s.name(), name)
			used[place] = true
		}
	}
	for place := range timed {
		require.True(t, used[place], "%s doesn't ask the machine's clock any more: take it off the table", place)
	}
}

// asksTheTime reports whether a file uses time.Now, time.Since or time.Until.
func asksTheTime(file *ast.File) (asks bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := sel.X.(*ast.Ident); ok && of.Name == "time" {
			asks = asks || sel.Sel.Name == "Now" || sel.Sel.Name == "Since" || sel.Sel.Name == "Until"
		}
		return true
	})
	return asks
}
