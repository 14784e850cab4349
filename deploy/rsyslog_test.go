package deploy

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
)

// documented is the example of a page, as wafbot prints it.
func documented(t *testing.T, page, kind string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", page))
	require.NoError(t, err)
	line := regexp.MustCompile(`(?m)^\{"` + kind + `":.*$`).FindString(string(text))
	require.NotEmpty(t, line)
	return line
}

// The examples in the documentation are as their schemas say.
func TestTheDocumentedLines(t *testing.T) {
	t.Parallel()
	for page, kind := range map[string]string{"audit.md": "audit", "events.md": "event"} {
		s, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "docs", kind+".schema.json"))
		require.NoError(t, err)
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(documented(t, page, kind)))
		require.NoError(t, err)
		require.NoError(t, s.Validate(doc))
	}
}

// rsyslogd runs with a socket of its own and the shipped file, which writes below dir, and writes all else to rest.
func rsyslogd(t *testing.T, dir string) (socket string) {
	t.Helper()
	program, err := exec.LookPath("rsyslogd")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/rsyslogd")
	}
	require.NoError(t, err, "there is no rsyslogd: run make tools, or go test -short")
	shipped, err := os.ReadFile(filepath.Join("rsyslog", "wafbot.conf"))
	require.NoError(t, err)
	require.Contains(t, string(shipped), `"/var/log/`)
	config := filepath.Join(dir, "rsyslog.conf")
	socket = filepath.Join(dir, "log")
	require.NoError(t, os.WriteFile(config, []byte(`global(workDirectory="`+dir+`" maxMessageSize="256k")
module(load="imuxsock" sysSock.use="off")
input(type="imuxsock" socket="`+socket+`" createPath="on" rateLimit.interval="0")
`+strings.ReplaceAll(string(shipped), `"/var/log/`, `"`+dir+`/`)+`
action(type="omfile" file="`+dir+`/rest")
`), 0o600))
	out, err := exec.Command(program, "-N1", "-f", config).CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(program, "-n", "-f", config, "-i", filepath.Join(dir, "pid"))
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return socket
}

// Audit entries and events go through rsyslog whole, each into a file of their own, and nothing else does.
func TestLinesGoThroughRsyslog(t *testing.T) {
	full.Only(t)
	t.Parallel()
	dir := t.TempDir()
	socket := rsyslogd(t, dir)
	var conn net.Conn
	require.Eventually(t, func() (up bool) {
		var err error
		conn, err = net.Dial("unixgram", socket)
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	defer conn.Close()
	example, event := documented(t, "audit.md", "audit"), documented(t, "events.md", "event")
	event = strings.Replace(event, "/login", `/{\"audit\":`, 1) // as an attacker's text is printed
	long := strings.Replace(example, `"outcome"`, `"why":"`+strings.Repeat("é 100% ", 4_000)+`","outcome"`, 1)
	for _, line := range []string{`wafbot[7]: time=2026-11-25T03:00:00Z level=INFO msg=listening`, "wafbot[7]: " + example, "wafbot[7]: " + long, `other[9]: {"audit":{"n":1}}`, "wafbot[7]: " + event, "wafbot[7]: " + example} {
		_, err := conn.Write([]byte("<30>Nov 25 03:00:00 " + line))
		require.NoError(t, err)
	}
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, name)) // it isn't there before the first line
		return string(text)
	}
	want := example + "\n" + long + "\n" + example + "\n"
	require.Eventually(t, func() bool {
		return len(read("wafbot-audit.json")) >= len(want) && read("wafbot-events.json") != "" && strings.Count(read("rest"), "\n") >= 2
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, want, read("wafbot-audit.json"))
	require.Equal(t, event+"\n", read("wafbot-events.json"))
	require.Contains(t, read("rest"), "msg=listening")
	require.NotContains(t, read("rest"), `"line"`)
}
