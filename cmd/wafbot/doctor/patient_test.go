package doctor_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/cmd/wafbot/doctor"
	"github.com/wafbot/wafbot/internal/sandbox"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/text"
)

func TestMain(m *testing.M) {
	store.LogCalls() // the Redis client logs each failed dial
	os.Exit(m.Run())
}

// unused is an address at which nothing listens: the port of a service that takes root to open.
const unused = "127.0.0.1:1"

// healthy is a configuration of two routes, with a user group and two applications.
const healthy = `accounts:
  - name: acme
    api_url: API_URL
    token: API_TOKEN
    channel: C0WAF0001
    applications: {4: Shop, 7: Legacy}
    routes:
      - {match: {kind: incident}, mention: S0ONCALL, channel: C0RANDOM3}
      - {match: {kind: attack}}
`

// patient is an emulated world with an attack in it, and the environment of a bot.
type patient struct {
	*sandbox.World
	environ []string
}

func openWorld(t *testing.T) *sandbox.World {
	t.Helper()
	world, err := sandbox.New(sandbox.Config{Quiet: true, Speed: 600})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- world.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return world
}

// newPatient has a configuration file in which API_URL and API_TOKEN stand for those of the world; without one, the
// environment alone.
func newPatient(t *testing.T, yaml string) patient {
	t.Helper()
	p := patient{World: openWorld(t)}
	_, err := p.WAF.StartAttack(waf.AttackSpec{
		Sources: []waf.SourceSpec{{IP: "203.0.113.7", Country: "FR", PerSecond: 8}, {IP: "198.51.100.4", PerSecond: 2}}, Started: waf.Duration(time.Minute),
	})
	require.NoError(t, err)
	if p.environ = p.Env(); yaml == "" {
		return p
	}
	p.Slack.SetUserGroup(workspace.UserGroup{ID: "S0ONCALL", Handle: "on-call", Name: "On call"})
	var environ []string
	for _, variable := range p.environ {
		name, value, _ := strings.Cut(variable, "=")
		switch name {
		case "WAFBOT_API_URL":
			yaml = strings.ReplaceAll(yaml, "API_URL", value)
		case "WAFBOT_API_TOKEN":
			yaml = strings.ReplaceAll(yaml, "API_TOKEN", value)
		case "WAFBOT_CHANNEL":
		default:
			environ = append(environ, variable)
		}
	}
	p.environ = environ
	return p.with("WAFBOT_CONFIG=" + write(t, yaml))
}

// write writes a configuration file and returns its path.
func write(t *testing.T, yaml string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wafbot.yaml")
	require.NoError(t, os.WriteFile(path, []byte(yaml), 0o600))
	return path
}

func (p patient) with(environ ...string) patient {
	p.environ = append(p.environ[:len(p.environ):len(p.environ)], environ...)
	return p
}

func (p patient) without(names ...string) patient {
	p.environ = slices.DeleteFunc(slices.Clone(p.environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(names, name)
	})
	return p
}

// report is a doctor's.
type report struct{ doctor.Report }

// of are the findings of a state as CHECK SUBJECT: TEXT → FIX.
func (r report) of(state doctor.State) []string {
	var lines []string
	for _, f := range r.Findings {
		if f.State == state {
			lines = append(lines, f.Check+" "+f.Subject+": "+f.Text+" → "+f.Fix)
		}
	}
	return lines
}

// examine runs doctor and checks what always holds: the order, and that no secret shows.
func (p patient) examine(t *testing.T) report {
	t.Helper()
	return p.examineWith(t, doctor.Options{})
}

// examineWith is examine with options other than the environment.
func (p patient) examineWith(t *testing.T, o doctor.Options) report {
	t.Helper()
	o.Environ = p.environ
	got, err := doctor.Run(t.Context(), o)
	require.NoError(t, err)
	r := report{got}
	require.Equal(t, len(r.of(doctor.Wrong)) == 0, r.OK)
	require.Equal(t, r.OK, r.Err() == nil)
	rank := map[doctor.State]int{doctor.Wrong: 0, doctor.Warn: 1, doctor.Note: 2, doctor.OK: 3}
	for i, f := range r.Findings {
		require.NotEmpty(t, f.Text)
		if f.State == doctor.Wrong || f.State == doctor.Warn {
			require.NotEmpty(t, f.Fix, "%+v", f)
		}
		if i > 0 {
			require.LessOrEqual(t, rank[r.Findings[i-1].State], rank[f.State], "what must be fixed comes first")
		}
	}
	printed := printed(t, r)
	for _, variable := range p.environ {
		if name, secret, _ := strings.Cut(variable, "="); strings.Contains(name, "TOKEN") || strings.Contains(name, "SECRET") {
			require.NotContains(t, printed, secret, name)
		}
	}
	return r
}

// printed is all that a program shows of a report: as lines, as JSON, and as an error.
func printed(t *testing.T, r report) string {
	t.Helper()
	var out strings.Builder
	r.Print(&out)
	words, err := json.Marshal(r)
	require.NoError(t, err)
	if err := r.Err(); err != nil {
		out.WriteString(err.Error() + "\n")
	}
	return out.String() + string(text.SanitizeJSON(words))
}

// requireOne demands exactly one line that holds all the parts.
func requireOne(t *testing.T, lines []string, parts ...string) {
	t.Helper()
	n := 0
	for _, line := range lines {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			n++
		}
	}
	require.Equal(t, 1, n, "%q in\n%s", parts, strings.Join(lines, "\n"))
}

// changing puts a proxy before an address, without its path, that changes what comes back.
func changing(t *testing.T, address string, change func(*http.Response) error) string {
	t.Helper()
	behind, err := url.Parse(address)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: behind.Scheme, Host: behind.Host})
	proxy.ModifyResponse = change
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL + behind.Path
}
