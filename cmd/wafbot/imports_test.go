package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/wafbot/wafbot"

// floor is a rule of the house, with its reason.
type floor struct {
	pkg  string   // with everything below it
	may  []string // what it may import of this module
	why  string
	only []string // libraries that no other package may import
}

// Imports run downward only.
var floors = []floor{
	{"internal/delay", nil, "waiting before another try is the same for every package: it needs none of them", nil},
	{"internal/nearest", nil, "commands and the configuration ask which word was meant: it knows words alone", nil},
	{"apiclient", []string{"internal/delay"}, "the service's JSON is known here alone, and of wafbot it knows only how to wait", nil},
	{"commands", []string{"apiclient", "internal/delay", "internal/nearest"}, "what can be done is the same whoever asks: it knows neither Slack nor Redis", nil},
	{"poller", []string{"apiclient", "internal/delay"}, "what is news doesn't depend on what can be done about it", nil},
	{"bot/card", []string{"apiclient", "commands", "poller", "internal/record", "internal/text"}, "a card is a pure function of records: it knows neither the wire nor who asks", nil},
	{"bot/slackconn/slacktest", nil, "Slack's end of the wire in tests shares no code with what it tests", nil},
	{"bot/slackconn", []string{"apiclient", "internal/delay"}, "the wire doesn't know what is said over it", nil},
	{"bot", []string{"bot/card", "bot/slackconn", "apiclient", "commands", "poller", "internal/record", "internal/text", "internal/delay"}, "the only package that knows Slack; it meets the store in cmd", []string{"github.com/slack-go/slack"}},
	{"internal/store", []string{"apiclient", "commands", "poller", "internal/delay"}, "the only package that knows Redis; it meets the bot in cmd", []string{"github.com/redis/go-redis/v9"}},
	{"internal/config", []string{"apiclient", "commands", "poller", "internal/pager", "internal/nearest"}, "it says what the operator wants in the words of those who do it; only cmd and doctor read it", nil},
	{"internal/doctor", []string{"apiclient", "commands", "bot/card", "bot/slackconn", "internal/config", "internal/store", "internal/pager"}, "it tries what the bot uses, as the bot does; only the terminal asks it", nil},
	{"internal/pager", []string{"apiclient"}, "it carries what others decided to somebody's pager: it knows HTTP, and that an address is a secret", nil},
	{"internal/sandbox/blockkit", nil, "Block Kit is checked as pure functions of blocks", nil},
	{"internal/sandbox/delivery", nil, "it carries payloads to the bot, whatever they say", nil},
	{"internal/sandbox/waf", nil, "the emulated service knows no Slack", nil},
	{"internal/sandbox/workspace", []string{"internal/sandbox/blockkit", "internal/sandbox/delivery"}, "the emulated Slack knows no service", nil},
	{"internal/sandbox", []string{"internal/sandbox"}, "it speaks the wire and shares no code with what it tests, so it can't share its mistakes", []string{"github.com/alicebob/miniredis/v2"}},
	{"internal/hostiletext", nil, "it holds samples of hostile text for tests of any package", nil},
	{"internal/redistest", nil, "it starts Redis servers for tests, whoever uses them", nil},
	{"internal/norace", nil, "tests of every package defer themselves with it", nil},
	{"internal/proxytest", nil, "it breaks connections of tests, whatever goes through them", nil},
	{"internal/chaos", []string{"internal/redistest"}, "what is shipped is tried from outside, over the wire alone", nil},
	{"cmd/wafbot", []string{"apiclient", "commands", "poller", "bot", "internal/delay", "internal/store", "internal/pager", "internal/sandbox", "internal/config", "internal/doctor"}, "main alone puts the parts together", nil},
	{"deploy", nil, "what is shipped is tried from outside, as its users meet it", nil},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsRunDownward(t *testing.T) {
	t.Parallel()
	packages := listPackages(t)
	require.NotEmpty(t, packages)
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		i := slices.IndexFunc(floors, func(f floor) bool { return within(name, f.pkg) })
		require.GreaterOrEqual(t, i, 0, "%s is on no floor: add it to the table with its reason", name)
		for _, imported := range p.Imports {
			if own, ok := strings.CutPrefix(imported, module+"/"); ok {
				require.True(t, slices.ContainsFunc(floors[i].may, func(may string) bool { return within(own, may) }),
					"%s imports %s, but %s", name, own, floors[i].why)
			}
			for _, other := range floors {
				if slices.ContainsFunc(other.only, func(lib string) bool { return within(imported, lib) }) {
					require.True(t, within(floors[i].pkg, other.pkg), "%s imports %s, but of %s: %s", name, imported, other.pkg, other.why)
				}
			}
		}
	}
}

func within(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

func listPackages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...").Output()
	require.NoError(t, err)
	var all []listed
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}
