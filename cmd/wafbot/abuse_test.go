package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/gorilla/websocket"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn/slacktest"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/hostiletext"
	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/internal/wrongclock"
)

var abuseTimes = flag.Int("abuse.times", 1, "how many times as much of each abuse there is")

// What an abuse may cost the bot at most, however much of it there is: far more than is measured, and far less than it
// took before there was a bound.
const (
	mostMemoryMB = 600.0
	mostLogMB    = 2.0
)

const theGuest = "U0GUEST001" // of the workspace

// theStrangers are of another workspace, in a shared channel.
func theStrangers() (all []string) {
	for i := range 100 {
		all = append(all, fmt.Sprintf("U0OTHER%03d", i))
	}
	return all
}

// abused is a bot that somebody tries to make big.
type abused struct {
	*stage
	*program
	t      *testing.T
	times  int          // as much of it
	logged atomic.Int64 // bytes that the bot wrote, its audit log among them
	redis  string       // "": the embedded one
	bad    *misanswer   // that it gets
}

// Write implements io.Writer.
func (a *abused) Write(p []byte) (int, error) {
	a.logged.Add(int64(len(p)))
	return len(p), nil
}

// abuse is what is tried. It is prepared before the bot starts, and returns when all of it arrived.
type abuse struct {
	name         string
	prepare      func(a *abused) // nil: nothing is
	do           func(a *abused)
	mostMemoryMB float64 // 0: mostMemoryMB
	mostRedisMB  float64
}

func abuses() []abuse {
	all := []abuse{
		{name: "unsigned connections", do: (*abused).unsignedConnections, mostRedisMB: 2},
		{name: "forged requests", do: (*abused).forgedRequests, mostRedisMB: 2},
		{name: "payloads without an address", do: (*abused).withoutAddress, mostRedisMB: 2},
		{name: "a guest's long lines", do: func(a *abused) { a.longLines("T0SANDBOX", theGuest) }, mostRedisMB: 1},
		{name: "a hundred strangers' long lines", do: func(a *abused) { a.longLines("T0ELSEWHERE", theStrangers()...) }, mostRedisMB: 1},
		{name: "attacks without end", do: (*abused).endlessListing, mostMemoryMB: 200, mostRedisMB: 60},
		{name: "zipped answers", prepare: (*abused).zipAnswers, do: (*abused).awaitBadAnswers, mostRedisMB: 2},
		{name: "answers of Slack without end", prepare: (*abused).answerWithoutEnd, do: (*abused).postOften, mostRedisMB: 2},
		{name: "long frames of Slack", prepare: (*abused).sendLongFrames, do: (*abused).awaitBadAnswers, mostRedisMB: 2},
		{name: "hostile texts", do: (*abused).hostileTexts, mostRedisMB: 100},
	}
	if *abuseTimes > 1 { // it compiles Go's library again: make test has a story
		all = append(all, abuse{name: "a clock an hour ahead", prepare: (*abused).clockAhead, do: (*abused).askByTwoClocks, mostRedisMB: 2})
	}
	return all
}

// Whatever others send, the bot stays small: its memory, what it stores, what it logs; and it still works.
func TestAbuse(t *testing.T) {
	full.Only(t)
	all := abuses()
	peaks := make([]string, len(all))
	t.Cleanup(func() {
		var table bytes.Buffer
		rows := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
		fmt.Fprintf(rows, "abuse\tmemory, MB\tRedis, MB\tlogged, MB\n%s", strings.Join(peaks, ""))
		require.NoError(t, rows.Flush())
		t.Logf("peaks, %d times:\n%s", *abuseTimes, &table)
	})
	for i, abuse := range all {
		t.Run(abuse.name, func(t *testing.T) {
			t.Parallel()
			a := newAbused(t, abuse.prepare)
			before := a.stored()
			abuse.do(a)
			a.works()
			mostStored := before + abuse.mostRedisMB + 0.2*float64(a.times) // deliveries are stored for an hour, but no more of them
			rests := func() bool { return a.stored() < mostStored }         // what was accepted is stored whole until it is carried out
			require.Eventually(t, rests, patienceOfBench, 100*time.Millisecond, "Redis holds too much")
			memory, stored, logged := memoryMB(t, a.cmd.Process.Pid, "VmHWM"), a.stored()-before, float64(a.logged.Load())/1e6
			peaks[i] = fmt.Sprintf("%s\t%.0f\t%.1f\t%.2f\n", abuse.name, memory, stored, logged)
			require.Less(t, memory, cmp.Or(abuse.mostMemoryMB, mostMemoryMB))
			require.Less(t, logged, mostLogMB)
		})
	}
}

// newAbused starts a bot that watches a quiet world.
func newAbused(t *testing.T, prepare func(a *abused)) *abused {
	t.Helper()
	a := &abused{t: t, times: *abuseTimes, stage: newStage(t, asIntended())}
	if _, err := exec.LookPath("redis-server"); err == nil {
		a.redis = redistest.Start(t).Addr
		a.environ = append(a.environ, "WAFBOT_REDIS_URL=redis://"+a.redis+"/0")
	}
	a.logs = a
	if prepare != nil {
		prepare(a)
	}
	a.program = a.run(t, theBot)
	a.listing.awaitPolls(2)
	return a
}

// stored is the memory that Redis uses, in MB; 0 with the embedded one.
func (a *abused) stored() float64 {
	if a.redis == "" {
		return 0
	}
	client := redis.NewClient(&redis.Options{Addr: a.redis})
	defer client.Close()
	info, err := client.Info(a.t.Context(), "memory").Result()
	require.NoError(a.t, err)
	_, rest, _ := strings.Cut(info, "used_memory:")
	used, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	require.NoError(a.t, err)
	return used / 1e6
}

// works demands that the bot still posts cards, and answers whoever may ask.
func (a *abused) works() {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patienceOfBench)
	defer cancel()
	_, err := a.waf.StartAttack(waf.AttackSpec{Path: "/after-abuse", Hits: 100, Vulnerability: sqlHole()})
	require.NoError(a.t, err)
	after := func(m workspace.Message) bool { return says(m, "/after-abuse") }
	_, err = a.slack.WaitMessage(ctx, "#waf", after)
	require.NoError(a.t, err)
	_, err = a.slack.Command(ctx, workspace.Command{User: "rob", Channel: "waf", Text: "incidents"})
	require.NoError(a.t, err)
	_, err = a.slack.WaitEphemeral(ctx, "rob", after)
	require.NoError(a.t, err)
}

// post sends a body as Slack does, signed with a secret.
func (a *abused) post(path, kind, body, secret string) (status int) {
	a.t.Helper()
	res, err := http.DefaultClient.Do(signedRequest(a.t, a.address+path, kind, body, secret, time.Now()))
	require.NoError(a.t, err)
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	return res.StatusCode
}

// atOnce does something so many times, by several at a time.
func (a *abused) atOnce(n int, do func(i int)) {
	var all sync.WaitGroup
	var next atomic.Int64
	for range 16 {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				do(int(i))
			}
		})
	}
	all.Wait()
}

func (a *abused) unsignedConnections() {
	flood(a.t, strings.TrimPrefix(a.address, "http://"), 1000, "")
}

func (a *abused) forgedRequests() {
	body := "payload=" + strings.Repeat("x", 20_000)
	a.atOnce(2000*a.times, func(int) {
		require.Equal(a.t, http.StatusUnauthorized, a.post("/slack/interactions", form, body, "guessed"))
	})
}

// withoutAddress sends payloads that Slack sends without any address for an answer.
func (a *abused) withoutAddress() {
	user := `"team":{"id":"T0SANDBOX"},"user":{"id":"` + theClicker + `","team_id":"T0SANDBOX"},"api_app_id":"A0WAFBOT"`
	all := []string{
		`{"type":"view_closed",` + user + `,"view":{"id":"V1","type":"modal","callback_id":"other"},"is_cleared":false}`,
		`{"type":"shortcut",` + user + `,"callback_id":"other","trigger_id":"1.1"}`,
		`{"type":"block_suggestion",` + user + `,"action_id":"other","block_id":"b","value":"a"}`,
	}
	a.atOnce(300*a.times, func(i int) {
		a.post("/slack/interactions", form, url.Values{"payload": {all[i%len(all)]}}.Encode(), benchSecret)
		a.post("/slack/commands", form, fmt.Sprintf("ssl_check=1&token=%d", i), benchSecret)
	})
}

// longLines sends mentions with a line of 35 kB each, every third one word, of people who may do nothing.
func (a *abused) longLines(team string, people ...string) {
	reason := strings.Repeat("B", 35_000)
	a.atOnce(300*a.times, func(i int) {
		user, line := people[i%len(people)], fmt.Sprintf(`deny 203.0.113.%d reason="%s"`, i%250, reason)
		if i%3 == 0 {
			line = reason
		}
		event, err := json.Marshal(map[string]any{
			"type": "event_callback", "team_id": "T0SANDBOX", "api_app_id": "A0WAFBOT", "event_id": fmt.Sprintf("EvABUSE%d", i), "event_time": time.Now().Unix(),
			"event": map[string]any{
				"type": "app_mention", "user": user, "team": team, "user_team": team, "channel": "C0WAF0001", "ts": fmt.Sprintf("%d.%06d", time.Now().Unix(), i),
				"text": "<@U0WAFBOT> " + line,
			},
		})
		require.NoError(a.t, err)
		a.post("/slack/events", "application/json", string(event), benchSecret)
	})
}

func (a *abused) endlessListing() {
	require.NoError(a.t, a.waf.SetFault(waf.Fault{Kind: "endless"}))
	require.Eventually(a.t, func() bool {
		res, err := http.Get(a.address + "/readyz")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return err == nil && strings.Contains(string(body), "over 40,000 attacks")
	}, patienceOfBench, 100*time.Millisecond)
	a.listing.awaitPolls(a.times)
}

// clockAhead has the machine's clock be an hour ahead, for the whole program.
func (a *abused) clockAhead() {
	a.binary = filepath.Join(a.t.TempDir(), "wafbot")
	out, err := exec.Command("go", slices.Concat([]string{"build", "-o", a.binary}, wrongclock.Flags(a.t), []string{"."})...).CombinedOutput()
	require.NoError(a.t, err, "%s", out)
	a.environ = append(a.environ, wrongclock.Variable+"=0s:1h")
}

// askByTwoClocks sends what is signed at the right time, which is taken, and what is signed at that of the machine,
// which isn't.
func (a *abused) askByTwoClocks() {
	for off, status := range map[time.Duration]int{0: http.StatusOK, time.Hour: http.StatusUnauthorized} {
		a.atOnce(300*a.times, func(i int) {
			body := fmt.Sprintf("command=/waf&text=whoami&user_id=%s&team_id=T0SANDBOX&trigger_id=%d&response_url=%s", theClicker, i, url.QueryEscape(a.url+"/answer"))
			res, err := http.DefaultClient.Do(signedRequest(a.t, a.address+"/slack/commands", form, body, benchSecret, time.Now().Add(off)))
			require.NoError(a.t, err)
			res.Body.Close()
			require.Equal(a.t, status, res.StatusCode, off)
		})
	}
	_, ready := fetch(a.t, a.address+"/readyz")
	require.Contains(a.t, ready, "this machine's clock is wrong")
}

// hostileTexts lists attacks whose texts are long and hostile.
func (a *abused) hostileTexts() {
	samples := hostiletext.Samples()
	for i := range 200 * a.times {
		text := samples[i%len(samples)].Text
		_, err := a.waf.StartAttack(waf.AttackSpec{
			Path: fmt.Sprintf("/%d/%s%s", i, text, strings.Repeat("e\u0301\u0301", 2000)), Parameter: "GET_" + strings.Repeat(text+"x", 1000/(len(text)+1)) + "_value", Hits: 50,
		})
		require.NoError(a.t, err)
	}
	a.listing.awaitPolls(2)
}

// bomb is 1 GiB of zeros in a gzip file.
func bomb() []byte {
	var small bytes.Buffer
	zip, zeros := gzip.NewWriter(&small), make([]byte, 1<<20)
	for range 1024 {
		_, _ = zip.Write(zeros)
	}
	_ = zip.Close()
	return small.Bytes()
}

// misanswer answers in the place of somebody, until the bot asked so many times.
type misanswer struct {
	instead, well http.Handler
	times         int64
	asked         atomic.Int64
	enough        chan struct{} // closed when it asked so often
}

// misanswers has so many first answers to the bot be bad ones: it asks less and less often.
func (a *abused) misanswers(times int, well http.Handler, instead http.HandlerFunc) http.Handler {
	a.bad = &misanswer{instead: instead, well: well, times: int64(times), enough: make(chan struct{})}
	return a.bad
}

// ServeHTTP implements http.Handler.
func (m *misanswer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := m.asked.Add(1)
	if n > m.times {
		m.well.ServeHTTP(w, r)
		return
	}
	m.instead.ServeHTTP(w, r)
	if n == m.times {
		close(m.enough)
	}
}

func (a *abused) awaitBadAnswers() {
	select {
	case <-a.bad.enough:
	case <-time.After(patienceOfBench):
		require.Fail(a.t, "the bot asked too seldom", a.bad.asked.Load())
	}
}

// zipAnswers has the service answer with a gigabyte, zipped.
func (a *abused) zipAnswers() {
	zeros := bomb()
	a.service = a.misanswers(2, a.service, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(zeros)
	})
}

// answerWithoutEnd has Slack answer posts with JSON that doesn't end.
func (a *abused) answerWithoutEnd() {
	a.posts = a.misanswers(2, a.posts, func(w http.ResponseWriter, _ *http.Request) {
		part := []byte(strings.Repeat(" ", 1<<20))
		for _, err := io.WriteString(w, `{"ok":true,"channel":"`); err == nil; {
			_, err = w.Write(part)
		}
	})
}

// postOften has the bot post for as long as the answers are bad.
func (a *abused) postOften() {
	_, err := a.waf.StartAttack(waf.AttackSpec{Path: "/posted", Hits: 100, Vulnerability: sqlHole()})
	require.NoError(a.t, err)
	a.awaitBadAnswers()
}

// sendLongFrames has Slack send frames of 15 MB over each Socket Mode link.
func (a *abused) sendLongFrames() {
	frame := bytes.Repeat([]byte("x"), 15<<20)
	end := slacktest.New(a.t, "", func(conn *websocket.Conn, _ bool) { _ = conn.WriteMessage(websocket.TextMessage, frame) })
	a.environ = append(a.environ, "WAFBOT_SLACK_APP_TOKEN=xapp-1")
	a.links = a.misanswers(3, a.slack, end.Config.Handler.ServeHTTP)
}
