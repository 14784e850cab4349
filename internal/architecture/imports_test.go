package architecture_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/wafbot/wafbot"

// floor is a package, or a folder of packages, with what it may import of this module and why.
type floor struct {
	pkg  string   // with everything below it, but for what stands above it in the table
	may  []string // with everything below them
	why  string
	only []string // libraries that no other floor may import
}

// base is what every floor above it may use: values and text, no effects.
var base = []string{"apiclient", "internal/record", "internal/text"}

func on(more ...string) []string { return slices.Concat(base, more) }

// floors is the house: imports run downward only. The first row that fits a package counts.
var floors = []floor{
	{"internal/clock", nil, "the time is the same for every package, so it stands below everything", nil},
	{"internal/delay", nil, "waiting before another try is the same for every package", nil},
	{"internal/version", nil, "which build this is depends on nothing that is built", nil},
	{"internal/metrics", []string{"internal/delay", "internal/version"}, "what is measured is named in one place, which knows nothing of how it comes about", nil},
	{"internal/nearest", nil, "it knows words alone: the grammar and the configuration ask which one was meant", nil},
	{"internal/text", nil, "text that is safe by construction is used everywhere, so it stands below everything", nil},
	{"apiclient", nil, "only this package knows the service's JSON, and it knows nothing of what wafbot does with it", nil},
	{"internal/record", []string{"apiclient", "internal/text"}, "records and events are values: they read and write nothing", nil},

	{"commands/refusal", on("internal/store"), "an answer other than done is the same for every command", nil},
	{"commands/grammar", on("commands/refusal", "internal/nearest"), "a line is read without knowing any verb", nil},
	{"commands/policy", on("internal/config", "commands/grammar", "commands/refusal"), "the policy is a value: it knows neither calls nor commands", nil},
	{"commands/call", on("internal/config", "internal/store", "commands/policy", "commands/grammar", "commands/refusal"), "a call is the value that every command works on", nil},
	{"commands/words", on("internal/config", "commands/call", "commands/policy", "commands/grammar"),
		"a line about a record needs the record and the account's names alone", nil},
	{"commands/efficacy", on("internal/config", "commands/words", "commands/call", "commands/policy", "commands/grammar"),
		"whether a mitigation works is judged by records, not by what can be done about it", nil},
	{"commands/approval", on("internal/config", "commands/words", "commands/call", "commands/policy", "commands/grammar",
		"commands/refusal"), "what needs approval is decided before a change is planned", nil},
	{"commands/change", on("internal/config", "commands/approval", "commands/efficacy", "commands/words", "commands/call",
		"commands/policy", "commands/grammar", "commands/refusal"),
		"plans are made of facts; the Runner alone carries them out", nil},
	{"commands/advice", on("internal/config", "commands/change", "commands/efficacy", "commands/words", "commands/call",
		"commands/policy", "commands/grammar"), "what a card offers follows from records: it runs no command", nil},
	{"commands/report", on("internal/config", "internal/store", "commands/advice", "commands/change", "commands/efficacy",
		"commands/words", "commands/call", "commands/policy", "commands/grammar", "commands/refusal"),
		"a report is composed of facts", nil},
	{"commands/form", on("internal/config", "commands/report", "commands/change", "commands/efficacy", "commands/words",
		"commands/call", "commands/policy", "commands/grammar", "commands/refusal"),
		"a form follows from a command's description", nil},
	{"commands/paging", on("internal/config", "commands/efficacy", "commands/words", "commands/call", "commands/policy",
		"internal/pager", "internal/delay"),
		"whom to page follows from routes and triage; it sends through interfaces", nil},
	{"commands/routing", on("internal/config", "commands/call", "commands/policy"), "where an attack goes follows from the routes and from what is stored", nil},
	{"commands/verb", on("internal/config", "commands", "internal/nearest"), "a verb is a description and a pure function; the import graph keeps it from its Runner", nil},
	{"commands", on("internal/config", "internal/store", "commands", "internal/delay", "internal/metrics"), "the Runner alone loads facts and carries out; it knows neither Slack nor how the store keeps what it holds", nil},

	{"poller/compare", base, "whether an attack got worse is a pure function of two records of it", nil},
	{"poller/storm", on("internal/config", "poller/compare"), "which attacks are grouped is a pure function of what was seen", nil},
	{"poller", on("internal/config", "internal/clock", "poller", "internal/delay"), "which events there are doesn't depend on what can be done about them", nil},

	{"bot/card", on("internal/config", "commands"), "a card is a pure function of records: it knows neither the wire nor who asks", nil},
	{"bot/slackconn/slacktest", nil, "Slack's end of the wire in tests shares no code with what it tests", nil},
	{"bot/slackconn", []string{"apiclient", "internal/delay", "internal/metrics"}, "the wire doesn't know what is said over it", nil},
	{"bot/notify", on("internal/config", "internal/clock", "internal/metrics", "bot/card", "bot/slackconn", "commands",
		"poller/compare", "internal/delay", "internal/store"), "events become messages without anyone clicking", nil},
	{"bot/rebuild", on("internal/config", "internal/clock", "bot/card", "bot/slackconn", "commands", "poller/storm", "internal/delay", "internal/store"), "it makes of what wafbot's messages hold what the store begins with, so it alone of the bot knows both", nil},
	{"bot", on("internal/config", "internal/store", "internal/clock", "internal/metrics", "internal/version", "bot", "commands", "internal/delay"), "bot and its packages alone know Slack", []string{"github.com/slack-go/slack"}},

	{"internal/store/address", []string{"apiclient"}, "how Redis is reached is checked where the configuration is, which needs no store for that", nil},
	{"internal/store", on("internal/clock", "internal/delay", "internal/store/address"), "only the store knows Redis, and it knows nothing of what is decided by what it holds", []string{"github.com/redis/go-redis/v9"}},
	{"internal/pager", []string{"apiclient", "internal/text"}, "it knows HTTP, and that an address is a secret", nil},
	{"internal/config", []string{"apiclient", "internal/record", "internal/pager", "internal/nearest", "internal/store/address"}, "settings are ground: what judges with them stands above and takes them", nil},

	{"internal/sandbox/blockkit", nil, "Block Kit is checked as pure functions of blocks", nil},
	{"internal/sandbox/delivery", nil, "it carries payloads to the bot without reading them", nil},
	{"internal/sandbox/pire", nil, "it knows patterns and texts alone", nil},
	{"internal/sandbox/waf", []string{"internal/sandbox/pire"}, "the emulated service knows no Slack", nil},
	{"internal/sandbox/workspace", []string{"internal/sandbox/blockkit", "internal/sandbox/delivery"}, "the emulated Slack knows no service", nil},
	{"internal/sandbox", []string{"internal/sandbox"}, "it shares no code with what it tests, so it can't share its mistakes", []string{"github.com/alicebob/miniredis/v2"}},

	{"internal/hostiletext", nil, "samples of hostile text, for tests of any package", nil},
	{"internal/redistest", nil, "Redis servers for tests of any package", nil},
	{"internal/full", nil, "tests of any package defer themselves with it", nil},
	{"internal/proxytest", nil, "it breaks connections without knowing what goes through them", nil},
	{"internal/wrongclock", nil, "it knows of the program only how it is compiled", nil},
	{"internal/chaos", []string{"internal/redistest"}, "what is shipped is tried from outside, over the wire alone", nil},
	{"internal/architecture", nil, "the rules of the house depend on no room of it", nil},
	{"deploy", nil, "what is shipped is tried from outside, as its users meet it", nil},
	{"cmd/wafbot/doctor", on("internal/version", "internal/clock", "bot/card", "bot/slackconn", "commands", "internal/config", "internal/nearest", "internal/store", "internal/pager"), "it tries what the bot uses, the way the bot does", nil},
	{"cmd/wafbot", on("internal/clock", "commands", "poller", "bot", "internal/delay", "internal/store", "internal/pager", "internal/sandbox", "internal/config", "cmd/wafbot/doctor", "internal/version", "internal/metrics"), "main alone puts the parts together", nil},
}

func TestImportsRunDownward(t *testing.T) {
	t.Parallel()
	for _, p := range goListed[struct {
		ImportPath string
		Imports    []string
	}](t, "-json=ImportPath,Imports") {
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

// goList is what go list says of all packages. It opens each folder, which Go's cache of tests doesn't see of a program
// that a test starts: a new file would not make the tests run again.
func goList(t *testing.T, flags ...string) []byte {
	t.Helper()
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != "../.." {
			return fs.SkipDir
		}
		return err
	}))
	list := exec.Command("go", slices.Concat([]string{"list"}, flags, []string{module + "/..."})...)
	list.Env = append(list.Environ(), "CGO_ENABLED=0") // as the program is built; Go files alone say all types
	out, err := list.Output()
	require.NoError(t, err)
	return out
}

// goListed is what go list says of each package, in the fields of T.
func goListed[T any](t *testing.T, flags ...string) (all []T) {
	t.Helper()
	for dec := json.NewDecoder(bytes.NewReader(goList(t, flags...))); dec.More(); {
		var one T
		require.NoError(t, dec.Decode(&one))
		all = append(all, one)
	}
	require.NotEmpty(t, all)
	return all
}

// once loads at the first call what all tests of the package read.
func once[T any](load func(*testing.T) T) func(*testing.T) T {
	var first sync.Once
	var all T
	loaded := false
	return func(t *testing.T) T {
		t.Helper()
		first.Do(func() { all, loaded = load(t), true })
		require.True(t, loaded, "a test that came before failed to load it")
		return all
	}
}

// eachFile visits the Go files of production code below folders of the repository, by their path in it.
func eachFile(t *testing.T, folders []string, visit func(name string, file *ast.File)) {
	t.Helper()
	for _, folder := range folders {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name, _ := filepath.Rel(root, path)
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err == nil {
				visit(name, file)
			}
			return err
		}))
	}
}
