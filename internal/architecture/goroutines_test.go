package architecture_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recovering are the functions of package delay that recover a panic.
var recovering = []string{"Try", "Again", "Run", "RunAgain"}

// unguarded are the functions that start a goroutine without one of package delay that recovers, and why nothing that
// came over a network can make it panic.
var unguarded = map[string]string{
	"bot/health.go ready":                    "it asks Redis, no more; the question to Slack is in delay.Run",
	"bot/notify/queue.go run":                "each event is handled in delay.Try, by the queue",
	"bot/requests.go Drain":                  "it waits, no more",
	"bot/server.go Serve":                    "net/http recovers what a handler panics with",
	"bot/slackconn/link.go read":             "each envelope is handled in delay.Run",
	"bot/slackconn/socket.go keep":           "a link's reading is in delay.Try, its pings in delay.RunAgain",
	"bot/worker.go Work":                     "it waits for a turn, and carries out in delay.RunAgain",
	"bot/worker.go carryOut":                 "it asks Redis to pass a turn on, no more",
	"cmd/wafbot/demo.go Run":                 "the demo is one person's",
	"cmd/wafbot/doctor/doctor.go sideBySide": "doctor is a command, which ends",
	"cmd/wafbot/line_print.go readLine":      "it reads a line of a terminal",
	"cmd/wafbot/serve.go serve":              "what it starts is in delay.Again, or serves HTTP, or waits",
	"cmd/wafbot/wiring_own.go own":           "the notifier's parts are each in delay.Run or delay.RunAgain",
	"commands/paging/paging.go round":        "each page is in delay.Try",
	"internal/store/lease.go renewing":       "it asks Redis to renew a lease, no more",
	"internal/store/read.go pipelined":       "it sends what was made before, no more",
}

// A panic in a goroutine ends the process, and with it what all others do. So each begins with one of recovering.
func TestAPanicInAGoroutineEndsNothingElse(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	eachFile(t, []string{"apiclient", "bot", "cmd", "commands", "internal", "poller"}, func(name string, file *ast.File) {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && !forTests(name) && startsUnguarded(f) {
				found[name+" "+f.Name.Name] = true
			}
		}
	})
	for at := range found {
		require.NotEmpty(t, unguarded[at], "%s starts a goroutine that a panic would end the process from: use delay.Try, or say here why it can't panic", at)
	}
	for at := range unguarded {
		require.True(t, found[at], "%s starts none any more", at)
	}
}

// forTests reports whether a file is of what only tests and the emulated world use.
func forTests(name string) bool {
	return slices.ContainsFunc([]string{"internal/sandbox", "internal/redistest", "internal/proxytest"}, func(dir string) bool {
		return strings.HasPrefix(name, dir)
	})
}

// startsUnguarded reports whether a function starts a goroutine that calls none of recovering.
func startsUnguarded(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = found || !guarded(n)
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "Go" {
				found = found || !guarded(n)
			}
		}
		return true
	})
	return found
}

func guarded(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := s.X.(*ast.Ident); ok && of.Name == "delay" && slices.Contains(recovering, s.Sel.Name) {
				found = true
			}
		}
		return true
	})
	return found
}
