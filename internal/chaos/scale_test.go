package chaos

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/redistest"
)

var (
	scales        = flag.Bool("scale", false, "whether TestScale runs")
	scaleAccounts = flag.Int("scale.accounts", 1000, "how many accounts there are")
	scaleChannels = flag.Int("scale.channels", 300, "how many channels they share")
	scaleAttacks  = flag.Int("scale.attacks", 100, "how many attacks of the last hours each has")
	scaleRate     = flag.Int("scale.rate", 50, "how many attacks begin a second, over all")
	scaleReplicas = flag.String("scale.replicas", "1,2,4", "with how many replicas it runs, each in a run of its own")
	scaleRedis    = flag.String("scale.redis", "one,cluster", "with which Redis, likewise")
	scaleFor      = flag.Duration("scale.for", time.Minute, "how long it is measured at rest, and how long under load")
	scaleKills    = flag.Int("scale.kills", 3, "how many replicas are killed, one each half minute")
	scaleDoc      = flag.String("scale.doc", "", "the document that gets the table; empty: it is printed alone")
)

// postsOfWorkspace is how many cards a second the workspace can be given for long: Slack takes some 300 messages a
// minute there, and others need room.
const postsOfWorkspace = 4

// TestScale runs the shipped program with very many accounts, and measures what that costs.
func TestScale(t *testing.T) {
	if !*scales {
		t.Skip("takes half an hour: make scale")
	}
	require.Less(t, worthCards()*float64(*scaleRate)*60/float64(max(1, *scaleAccounts-inStorm)), 8.0, "so many attacks of one account a minute are a storm, and have no cards: take more accounts, or a lower rate")
	binary := build(t)
	var all []measured
	for kind := range strings.SplitSeq(*scaleRedis, ",") {
		for n := range strings.SplitSeq(*scaleReplicas, ",") {
			replicas, err := strconv.Atoi(n)
			require.NoError(t, err)
			t.Run(kind+"/"+n, func(t *testing.T) {
				m := openScale(t, binary, kind, replicas).measure()
				all = append(all, m)
				fmt.Println(scaleTable([]measured{m}))
				require.Equal(t, m.left.Wanted, m.left.Posted, "cards are missing")
				require.Zero(t, m.left.Twice)
			})
		}
	}
	if *scaleDoc != "" && !t.Failed() {
		require.NoError(t, writeTable(*scaleDoc, scaleTable(all)))
	}
}

// scale is a run with so many replicas.
type scale struct {
	t        *testing.T
	size     size
	kind     string
	world    *process
	url      string
	http     *http.Client
	replicas []*replica
	servers  []string // of Redis, that take writes
	redis    redis.UniversalClient
	empty    usage // what the servers of Redis took before
}

var worldAt = regexp.MustCompile(`world=(\S+)`)

// openScale starts everything and waits until each account is polled.
func openScale(t *testing.T, binary, kind string, replicas int) *scale {
	t.Helper()
	dir := logsOf(t, "scale")
	s := &scale{t: t, kind: kind}
	s.size = size{Accounts: *scaleAccounts, Channels: *scaleChannels, Attacks: *scaleAttacks, CertFile: filepath.Join(dir, "ca.pem")}
	s.size.Deliver = balance(t, func() []*replica { return s.replicas })
	t.Setenv("SSL_CERT_FILE", s.size.CertFile)
	s.openWorld(dir)
	url := s.openRedis()
	config := filepath.Join(dir, "wafbot.yaml")
	require.NoError(t, os.WriteFile(config, []byte(s.config(url)), 0o600))
	s.empty = s.redisUsage()
	for n := range replicas {
		one := &replica{t: t, number: n, binary: binary, config: config, logs: dir}
		require.NoError(t, one.start())
		s.replicas = append(s.replicas, one)
	}
	require.Eventually(t, func() bool { return s.figures().Accounts == s.size.Accounts }, 5*time.Minute, time.Second, "not all accounts are polled")
	s.settle()
	s.ask("limits", struct{}{})
	return s
}

// openWorld starts the emulated service and workspace in a process of their own, over TLS.
func (s *scale) openWorld(dir string) {
	s.t.Helper()
	self, err := os.Executable()
	require.NoError(s.t, err)
	text, err := json.Marshal(s.size)
	require.NoError(s.t, err)
	cmd := exec.Command(self, "-test.run=^TestScaleWorld$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), worldVariable+"="+string(text), "GOGC=400")
	_, err = cmd.StdinPipe()
	require.NoError(s.t, err)
	s.world, s.url, err = start(s.t, dir, "world", cmd, worldAt)
	require.NoError(s.t, err)
	s.http = trusting(s.t, s.size.CertFile)
}

// openRedis starts the run's Redis, and returns its address.
func (s *scale) openRedis() (url string) {
	s.t.Helper()
	switch s.kind {
	case "one":
		one := redistest.StartDurable(s.t)
		s.servers, url = []string{one.Addr}, one.URL()
		s.redis = redis.NewClient(&redis.Options{Addr: one.Addr})
	case "cluster":
		set := redistest.StartCluster(s.t, nil)
		for _, m := range set.Masters() {
			s.servers = append(s.servers, m.Addr)
		}
		url = set.URL
		s.redis = redis.NewClusterClient(&redis.ClusterOptions{Addrs: s.servers})
	default:
		s.t.Fatalf("there is no Redis %q", s.kind)
	}
	s.t.Cleanup(func() { require.NoError(s.t, s.redis.Close()) })
	return url
}

// config is the replicas' configuration.
func (s *scale) config(redis string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "slack: {bot_token: %s, signing_secret: %s, api_url: \"%s/slack/api/\"}\n", scaleToken, scaleSecret, s.url)
	fmt.Fprintf(&b, `
redis: {url: "%s"}
sources: []
policy: {changes: on, viewers: [], admins: [%s]}
account_defaults:
  api_url: "%s/service"
  poll_interval: 15s
  routes: [{match: {kind: incident}}, {match: {kind: attack, min_hits: %d}}]
accounts:
`, redis, scaleUser, s.url, wantedHits)
	for n := range s.size.Accounts {
		fmt.Fprintf(&b, "  - {name: %s, token: %s, client_id: %d, channel: %s}\n", tenantName(n), tenantToken(n), n+1, channelOf(n, s.size.Channels))
	}
	return b.String()
}

// ask asks the world for something, and returns what it answers.
func (s *scale) ask(what string, body any) []byte {
	s.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(s.t, err)
	res, err := s.http.Post(s.url+"/scale/"+what, "application/json", bytes.NewReader(text))
	require.NoError(s.t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, res.StatusCode, "%s", answer)
	return answer
}

func (s *scale) figures() (f figures) {
	s.t.Helper()
	require.NoError(s.t, json.Unmarshal(s.ask("figures", struct{}{}), &f))
	return f
}

// settle waits until no message was posted for five seconds: each account has said that it is watched.
func (s *scale) settle() {
	s.t.Helper()
	quiet, before := 0, 0
	require.Eventually(s.t, func() bool {
		if quiet++; s.figures().Posts > before {
			quiet, before = 0, s.figures().Posts
		}
		return quiet >= 5
	}, 10*time.Minute, time.Second, "messages go on")
}

// worthCards is the share of new attacks that is worth a card: as many as the workspace takes.
func worthCards() float64 { return min(1, postsOfWorkspace/float64(*scaleRate)) }

// measured is what a run found.
type measured struct {
	kind            string
	replicas        int
	size            size
	rest, busy      spent
	restAt, loadSaw figures
	httpTrip, trip  time.Duration
	watched         time.Duration   // until all accounts of a killed replica were owned again
	polled          []time.Duration // how long after it each of them was polled
	left            figures         // at the end
}

// measure measures at rest, under load, and while replicas are killed.
func (s *scale) measure() (m measured) {
	m.kind, m.replicas, m.size = s.kind, len(s.replicas), s.size
	m.httpTrip, m.trip = s.trips()
	s.ask("reset", struct{}{})
	m.rest = s.during(func() { pause(s.t.Context(), *scaleFor) })
	m.restAt = s.figures()
	s.ask("reset", struct{}{})
	m.busy = s.during(func() { s.ask("load", load{Lasts: *scaleFor, Rate: *scaleRate, Cards: worthCards(), Storm: true}) })
	s.settle()
	m.loadSaw = s.figures()
	s.ask("reset", struct{}{})
	m.watched, m.polled = s.kills()
	for end := time.Now().Add(2 * time.Minute); ; pause(s.t.Context(), time.Second) { // what was listed while an owner died is posted by the next one, and the last click is answered
		if m.left = s.figures(); m.left.Posted == m.left.Wanted && m.left.Unanswered == 0 || time.Now().After(end) {
			break
		}
	}
	return m
}

// killEvery is how long after a replica the next one is killed.
const killEvery = 30 * time.Second

// kills kills one replica after another under load, and has it back ten seconds later, or at once where it is the only
// one.
func (s *scale) kills() (watched time.Duration, polled []time.Duration) {
	if *scaleKills == 0 {
		return 0, nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ask("load", load{Lasts: time.Duration(*scaleKills) * killEvery, Rate: *scaleRate, Cards: worthCards()})
	}()
	for n := range *scaleKills {
		next := time.After(killEvery)
		one := s.replicas[n%len(s.replicas)]
		before := s.owners()
		s.ask("mark", struct{}{})
		killed := time.Now()
		one.kill()
		if len(s.replicas) == 1 {
			require.NoError(s.t, one.start())
		}
		last, orphans := s.owned(before, killed)
		watched = max(watched, last)
		if len(s.replicas) > 1 {
			pause(s.t.Context(), time.Until(killed.Add(10*time.Second)))
			require.NoError(s.t, one.start())
		}
		<-next
		var since []time.Duration
		require.NoError(s.t, json.Unmarshal(s.ask("marked", struct{}{}), &since))
		for n := range orphans {
			polled = append(polled, since[n])
		}
	}
	<-done
	return watched, polled
}
