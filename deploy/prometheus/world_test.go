package prometheus

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/wrongclock"
)

// faster is by how much the rules' times are shortened: for, windows, and what is written N * 60.
const faster = 10

// installation is the program as it is shipped, two replicas of it, in the emulated world with a real Redis, and a real Prometheus.
type installation struct {
	t          *testing.T
	dir        string
	binary     string
	world      string // its control API
	env        []string
	redis      *redistest.Server
	pager      *pager
	replicas   [2]*exec.Cmd
	listens    [2]string
	prometheus string
	attacks    int
}

// install starts one, and waits until it is well.
func install(t *testing.T, binary string) *installation {
	t.Helper()
	in := &installation{t: t, dir: t.TempDir(), binary: binary, redis: redistest.StartDurable(t), pager: newPager(t)}
	in.open()
	in.configure()
	for i := range in.replicas {
		in.listens[i] = free(t)
		in.start(i, in.binary)
	}
	in.scrape()
	in.until("two healthy replicas", 2*time.Minute, func() bool {
		found, err := in.query(`min(wafbot_replicas) == 2 and on () count(up == 1) == 2 and on () max(wafbot_account_reachable) == 1`)
		return err == nil && len(found) == 1
	})
	return in
}

// pager is the pager.
type pager struct {
	*httptest.Server

	dead atomic.Bool
}

func newPager(t *testing.T) *pager {
	t.Helper()
	p := &pager{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if p.dead.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// configure writes what no variable sets. Polls are as much faster as the rules are.
func (in *installation) configure() {
	in.t.Helper()
	file := filepath.Join(in.dir, "wafbot.yaml")
	text := fmt.Sprintf(`
account_defaults: {poll_interval: %dms, routes: [{match: {}, page: {url: %q, format: json, after: 5s}}]}
`, 15_000/faster, in.pager.URL)
	require.NoError(in.t, os.WriteFile(file, []byte(text), 0o600))
	in.env = append(in.env, "WAFBOT_CONFIG="+file)
}

// build compiles the program as it is shipped, but for the flags.
func build(t *testing.T, name string, flags ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", append(append([]string{"build", "-ldflags", "-s -w", "-o", binary}, flags...), "../../cmd/wafbot")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// open starts the emulated world.
func (in *installation) open() {
	in.t.Helper()
	world := exec.Command(in.binary, "sandbox")
	out, err := world.StdoutPipe()
	require.NoError(in.t, err)
	in.run(world, "sandbox")
	said := ""
	for buf := make([]byte, 4096); !strings.Contains(said, "\n\n"); {
		n, err := out.Read(buf)
		require.NoError(in.t, err)
		said += string(buf[:n])
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	for line := range strings.Lines(said) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && name != "WAFBOT_REDIS_URL" && name != "WAFBOT_LISTEN" {
			in.env = append(in.env, name+"="+value)
			if name == "WAFBOT_SLACK_API_URL" {
				in.world = strings.TrimSuffix(value, "/slack/api/") + "/sandbox"
			}
		}
	}
	in.env = append(in.env, "WAFBOT_REDIS_URL="+in.redis.URL(), "WAFBOT_LOG_LEVEL=debug")
}

// run starts a program, whose log is a file beside the binary.
func (in *installation) run(cmd *exec.Cmd, name string) {
	in.t.Helper()
	log, err := os.OpenFile(filepath.Join(in.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(in.t, err)
	if cmd.Stderr = log; cmd.Stdout == nil {
		cmd.Stdout = log
	}
	require.NoError(in.t, cmd.Start())
	in.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
	})
}

// start starts a replica, with an hour as what its machine's clock is ahead if the binary can be wrong.
func (in *installation) start(i int, binary string) {
	in.t.Helper()
	cmd := exec.Command(binary, "serve")
	cmd.Env = append(append(os.Environ(), in.env...), "WAFBOT_LISTEN="+in.listens[i], wrongclock.Variable+"=0s:1h")
	in.run(cmd, fmt.Sprintf("replica%d", i))
	in.replicas[i] = cmd
}

func (in *installation) stop(i int, s syscall.Signal) {
	in.t.Helper()
	require.NoError(in.t, in.replicas[i].Process.Signal(s))
	_ = in.replicas[i].Wait()
}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// scrape starts Prometheus, with the rules' times shortened.
func (in *installation) scrape() {
	in.t.Helper()
	text, err := os.ReadFile(rulesFile)
	require.NoError(in.t, err)
	short := regexp.MustCompile(`\b(\d+)m\b`).ReplaceAllStringFunc(string(text), func(minutes string) string {
		n, _ := strconv.Atoi(strings.TrimSuffix(minutes, "m"))
		return fmt.Sprintf("%ds", n*60/faster)
	})
	short = strings.ReplaceAll(short, "* 60", fmt.Sprintf("* %d", 60/faster))
	require.NoError(in.t, os.WriteFile(filepath.Join(in.dir, rulesFile), []byte(short), 0o600))
	config := fmt.Sprintf(`
global: {scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 2s}
rule_files: [%s]
scrape_configs: [{job_name: wafbot, static_configs: [{targets: [%q, %q]}]}]
`, rulesFile, in.listens[0], in.listens[1])
	file := filepath.Join(in.dir, "prometheus.yml")
	require.NoError(in.t, os.WriteFile(file, []byte(config), 0o600))
	at := free(in.t)
	in.run(exec.Command("prometheus", "--config.file", file, "--storage.tsdb.path", filepath.Join(in.dir, "tsdb"), "--web.listen-address", at), "prometheus")
	in.prometheus = "http://" + at
}

// query is what Prometheus answers to an expression: the samples by their labels.
func (in *installation) query(expr string) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(in.t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.prometheus+"/api/v1/query?query="+url.QueryEscape(expr), http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var answer struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Error != "" {
		return nil, fmt.Errorf("query %s: %s %w", expr, answer.Error, err)
	}
	all := map[string]float64{}
	for _, r := range answer.Data.Result {
		value, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
		if err != nil {
			return nil, err
		}
		all[fmt.Sprint(r.Metric)] = value
	}
	return all, nil
}

// ask posts to the emulated world.
func (in *installation) ask(path string, body any) {
	in.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(in.t, err)
	res, err := http.Post(in.world+path, "application/json", bytes.NewReader(text))
	require.NoError(in.t, err)
	defer res.Body.Close()
	answer, _ := io.ReadAll(res.Body)
	require.Contains(in.t, []int{http.StatusOK, http.StatusConflict}, res.StatusCode, "%s: %s", path, answer) // 409: no bot is connected just now
}

// menu are the kinds of faults that the emulated world has, as SIDE KIND.
func (in *installation) menu() (all []string) {
	in.t.Helper()
	res, err := http.Get(in.world + "/faults")
	require.NoError(in.t, err)
	defer res.Body.Close()
	var faults struct {
		Menu map[string][]struct{ Kind string }
	}
	require.NoError(in.t, json.NewDecoder(res.Body).Decode(&faults))
	for side, kinds := range faults.Menu {
		for _, k := range kinds {
			all = append(all, side+" "+k.Kind)
		}
	}
	return all
}

// happen has something happen: an attack begins, and people type.
func (in *installation) happen() {
	in.t.Helper()
	in.attacks++
	n := in.attacks
	in.ask("/attacks", map[string]any{"account": "acme", "path": fmt.Sprintf("/item%d", n), "hits": 200, "lasts": "20s", "sources": []any{map[string]any{"ip": fmt.Sprintf("198.51.%d.%d", 100+n/250, n%250+1), "per_second": 2}}})
	in.types(fmt.Sprintf("deny 203.0.%d.%d for=1h", 120+n/250, n%250+1))
	in.types("status")
}

func (in *installation) types(line string) {
	in.t.Helper()
	in.ask("/slack/command", map[string]any{"user": "ann", "channel": "#waf", "text": line})
}
