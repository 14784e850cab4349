package chaos

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wafbot/wafbot/internal/redistest"
)

// outside is a mix without kills: somebody outside gives answers that they shouldn't, each once and for a minute, at
// rest or under clicks, to one replica or two. Nobody helps: a replica that ends has failed.
const outside mix = "outside"

var minute = flag.Duration("chaos.minute", time.Minute, "how long an answer from outside is given, in the mix outside")

// answersFromOutside lists the answers that something ended at once, or might.
func answersFromOutside() []answer {
	return slices.Concat(slackRefusals(), oddAnswers("slack"), oddAnswers("service"), oddAnswers("proxy"), serviceRefusals(), redisErrors())
}

// refusals are Slack's error names, by the method that says them.
func slackRefusals() (all []answer) {
	for _, group := range []struct{ to, names string }{
		{"", "not_authed invalid_auth token_expired token_revoked not_allowed_token_type missing_scope account_inactive " +
			"user_removed_from_team team_disabled no_permission access_denied internal_error fatal_error org_login_required " +
			"ekm_access_denied enterprise_is_restricted ratelimited request_timeout service_unavailable accesslimited " +
			"team_added_to_org team_access_not_granted unknown_method invalid_arguments method_deprecated what_is_this"},
		{"apps.connections.open", "not_authed invalid_auth token_expired token_revoked not_allowed_token_type missing_scope " +
			"account_inactive user_removed_from_team team_disabled no_permission access_denied internal_error forbidden_team"},
		{"chat.postMessage", "channel_not_found is_archived not_in_channel restricted_action msg_too_long invalid_blocks " +
			"invalid_blocks_format metadata_too_large no_text rate_limited message_limit_exceeded cannot_reply_to_message " +
			"thread_locked messages_tab_disabled"},
		{"chat.update", "edit_window_closed is_inactive channel_not_found invalid_blocks msg_too_long"},
		{"chat.postEphemeral", "user_not_in_channel channel_not_found is_archived"},
		{"conversations.history", "channel_not_found not_in_channel invalid_ts_latest"},
		{"users.info", "user_not_found user_not_visible"},
		{"auth.test", "invalid_auth account_inactive team_disabled"},
	} {
		for name := range strings.FieldsSeq(group.names) {
			all = append(all, answer{
				from: "slack", name: strings.TrimSpace(group.to + " " + name), to: regexp.MustCompile(group.to + "$"),
				raw: okay(`{"ok":false,"error":"` + name + `"}`),
			})
		}
	}
	return all
}

func okay(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// oddAnswers are status lines and bodies that no client expects. Where Slack or the service gives one, what was asked
// for may be done all the same.
func oddAnswers(from string) (all []answer) {
	for name, raw := range map[string]string{
		"bare 403":            "HTTP/1.1 403\r\n\r\n",
		"407":                 "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n",
		"redirect":            "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.test/\r\nContent-Length: 0\r\n\r\n",
		"redirect in circles": "HTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
		"bare 200":            "HTTP/1.1 200\r\n\r\n",
		"204":                 "HTTP/1.1 204 No Content\r\n\r\n",
		"999":                 "HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n",
		"another protocol":    "SSH-2.0-OpenSSH_9.6\r\n",
		"zero bytes":          strings.Repeat("\x00", 64),
		"nothing":             "",
		"negative length":     "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"endless header":      "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n",
		"a page":              "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 24\r\n\r\n<html>Log in here</html>",
		"502 with a page":     "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>no</html>",
		"503 for a minute":    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n",
		"429 for a minute":    "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n",
		"429 with a word":     "HTTP/1.1 429 Too Many Requests\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n",
		"null":                okay("null"),
		"a list":              okay("[]"),
		"an empty object":     okay("{}"),
		"a string":            okay(`"ok"`),
		"deep":                okay(strings.Repeat("[", 20000)),
		"no gzip":             "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope",
		"switching":           "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
	} {
		all = append(all, answer{from: from, name: name, raw: raw})
		if from != "proxy" && name != "bare 403" && name != "407" && !strings.HasPrefix(name, "429") {
			all = append(all, answer{from: from, name: name + ", but done", raw: raw, done: true})
		}
	}
	if from != "proxy" {
		all = append(all,
			answer{from: from, name: "cut", done: true, spoil: func(right []byte) []byte { return right[:len(right)/2] }},
			answer{from: from, name: "a later part missing", done: true, spoil: func(right []byte) []byte { return right[:max(0, len(right)-2)] }})
	}
	slices.SortFunc(all, func(a, b answer) int { return strings.Compare(a.name, b.name) })
	return all
}

// serviceRefusals are the service's statuses, and records of another client.
func serviceRefusals() (all []answer) {
	for _, status := range []int{400, 401, 402, 403, 404, 405, 409, 410, 413, 415, 421, 422, 423, 425, 429, 451, 500, 501, 502, 503, 504, 507, 520} {
		body := fmt.Sprintf(`{"status":%d,"body":"%s"}`, status, http.StatusText(status))
		all = append(all, answer{
			from: "service", name: fmt.Sprint(status),
			raw: fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body),
		})
	}
	client := regexp.MustCompile(`"client_?id":\s*\d+`)
	return append(all, answer{from: "service", name: "another client's", done: true, spoil: func(right []byte) []byte {
		return client.ReplaceAllFunc(right, func(text []byte) []byte { return append(bytes.TrimRight(text, "0123456789"), "77"...) })
	}})
}

// redisErrors are what Redis says of itself, and what no Redis says.
func redisErrors() (all []answer) {
	for _, text := range []string{
		"LOADING Redis is loading the dataset in memory", "READONLY You can't write against a read only replica.",
		"OOM command not allowed when used memory > 'maxmemory'.", "NOAUTH Authentication required.",
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
		"WRONGPASS invalid username-password pair or user is disabled.", "NOPERM User default has no permissions to run this command",
		"BUSY Redis is busy running a script.", "NOSCRIPT No matching script.", "CLUSTERDOWN The cluster is down", "TRYAGAIN later",
		"MASTERDOWN Link with MASTER is down", "NOREPLICAS Not enough good replicas to write.", "MOVED 1 127.0.0.1:1", "ASK 1 127.0.0.1:1",
		"WRONGTYPE Operation against a key holding the wrong kind of value", "ERR unknown command", "ERR internal error", "EXECABORT no",
		"ERR user_script:1: attempt to index a nil value script: x, on @user_script:1.", "UNKILLABLE no", "",
	} {
		word, _, _ := strings.Cut(text, " ")
		all = append(all,
			answer{from: "redis", name: strings.TrimSpace("-" + word + " " + text[min(len(word), len(text)):]), raw: "-" + text + "\r\n"},
			answer{from: "redis", name: "-" + word + " to scripts", to: regexp.MustCompile("^(?i)eval"), raw: "-" + text + "\r\n"})
	}
	spoilt := func(name string, spoil func([]byte) []byte) answer {
		return answer{from: "redis", name: name, done: true, ends: true, spoil: spoil}
	}
	return append(all,
		answer{from: "redis", name: "too many clients", raw: "-ERR max number of clients reached\r\n", ends: true},
		answer{from: "redis", name: "another protocol", raw: "HTTP/1.1 400 Bad Request\r\n\r\n", ends: true},
		answer{from: "redis", name: "zero bytes", raw: strings.Repeat("\x00", 64), ends: true},
		answer{from: "redis", name: "nothing", ends: true},
		spoilt("nothing, but done", func([]byte) []byte { return nil }),
		spoilt("cut, but done", func(right []byte) []byte { return right[:len(right)/2] }))
}

// openOutside puts an intruder between the replicas and everything, and returns what their configuration names.
func (r *round) openOutside(upstream string) (redis, slack, service string) {
	r.single = redistest.StartDurable(r.t)
	r.intruder = newIntruder(r.t, upstream, r.single.Addr)
	return fmt.Sprintf(`url: "redis://%s/0"`, r.intruder.stored), r.intruder.slack, r.intruder.service
}

// damage makes a value that wafbot keeps unreadable: a field, a member, an entry, or the whole of it.
func (r *round) damage(dice *rand.Rand) {
	ask := func(format string, args ...any) []string {
		v, err := askRedis(r.single.Addr, fmt.Sprintf(format, args...))
		if err != nil {
			r.t.Errorf("damage: %v", err)
		}
		if len(v.words) == 0 && len(v.raw) > 0 && v.raw[0] == '+' {
			return strings.Fields(string(v.raw[1:]))
		}
		return v.words
	}
	keys := ask("KEYS *")
	which, bad := dice.IntN(1<<16), []string{"garbage", "{", "null", "[1]", "-1", "\xff"}[dice.IntN(6)]
	if len(keys) == 0 {
		return
	}
	slices.Sort(keys)
	key := keys[which%len(keys)]
	kind := ask("TYPE %s", key)
	if len(kind) == 0 {
		return // a name with a blank in it
	}
	switch kind[0] {
	case "string":
		ask("SET %s %s KEEPTTL", key, bad)
	case "hash":
		if field := ask("HRANDFIELD %s", key); len(field) == 1 && !strings.Contains(field[0], " ") {
			ask("HSET %s %s %s", key, field[0], bad)
		}
	case "zset":
		ask("ZADD %s 1 %s", key, bad)
	case "set":
		ask("SADD %s %s", key, bad)
	case "stream":
		ask("XADD %s * %s %s", key, bad, bad)
	case "list":
		ask("RPUSH %s %s", key, bad)
	}
	r.lost()
	r.count("damaged: " + ownName.ReplaceAllString(key, ":$1:*"))
}

// misinform gives answers until the context ends, each once, and then begins to give one all the time: one alone,
// because who hears a refusal of Redis only from Slack hears nothing while that fails, too.
func (r *round) misinform(ctx context.Context, dice *rand.Rand) {
	all := answersFromOutside()
	dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for n := 0; ctx.Err() == nil; n++ {
		a := all[n%len(all)]
		if dice.IntN(12) == 0 {
			r.damage(dice)
		}
		r.intruder.say(a, 1)
		r.count(a.from + " once: " + a.name)
		pause(ctx, between(dice, 200*time.Millisecond, time.Second))
	}
	r.silence()
	a := all[dice.IntN(len(all))]
	r.intruder.say(a, -1)
	r.count(a.from + " for a minute: " + a.name)
}

// silence ends all answers from outside.
func (r *round) silence() {
	for _, from := range []string{"slack", "service", "proxy", "redis"} {
		r.intruder.silence(from)
	}
}

// playOutside plays a round of this mix: attacks all the time, people only in half of the rounds.
func (r *round) playOutside() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), r.plan.lasts+*minute)
	defer cancel()
	once, over := context.WithTimeout(ctx, r.plan.lasts)
	defer over()
	var busy sync.WaitGroup
	busy.Go(func() { r.attack(ctx, r.plan.random(1)) })
	if r.plan.seed/2%2 == 0 {
		for n := range people() {
			busy.Go(func() { r.act(ctx, people()[n], r.plan.random(uint64(10+n))) })
		}
	}
	busy.Go(func() { r.misinform(once, r.plan.random(2)) })
	busy.Wait()
	r.silence()
	r.works()
}

// works checks that everything works again without hands: each replica lives and is ready, and new attacks and lines
// are attended to like all others.
func (r *round) works() {
	r.t.Helper()
	for _, one := range r.replicas {
		one.awaitReady()
	}
	dice := r.plan.random(3)
	for n, a := range accounts() {
		r.startAttack(a, dice, 8000+n)
		r.typed(people()[0], a, fmt.Sprintf("deny 2001:db8:ffff::%d for=1h", 1+n))
	}
}

// readyPatience is how long a replica may take until all works again: longer than the longest pause between two tries.
const readyPatience = 2 * time.Minute

// awaitReady waits until the replica says that it is ready. It may not have ended.
func (r *replica) awaitReady() {
	r.t.Helper()
	said := ""
	for end := time.Now().Add(readyPatience); time.Now().Before(end); pause(r.t.Context(), time.Second) {
		if closed(r.process.ended) {
			r.t.Fatalf("replica %d ended", r.number)
		}
		res, err := http.Get("http://" + r.at() + "/readyz")
		if err != nil {
			said = err.Error()
			continue
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if said = res.Status + " " + string(text); res.StatusCode == http.StatusOK {
			return
		}
	}
	r.t.Fatalf("replica %d isn't ready: %s", r.number, said)
}

// answer is what somebody outside says instead of what a replica asked for.
type answer struct {
	from  string         // who says it: slack, service, the proxy before both, or redis
	name  string         // for the report
	to    *regexp.Regexp // paths or commands that are answered so; nil: all
	raw   string         // the bytes, with those of the status line; "": the right answer, spoilt
	spoil func(right []byte) []byte
	done  bool // what was asked for is done all the same
	ends  bool // the connection ends with it
}

// intruder stands between the replicas and everything outside. It passes everything on, and says what it is told to.
type intruder struct {
	world   string // host and port
	outside *http.Transport
	slack   string // as the replicas see it
	service string // as the replicas see it
	stored  string // Redis, as the replicas see it

	mu   sync.Mutex
	says map[string]*saying // by who says it
}

// saying is an answer, and how often it is still given; negative: until it is silenced.
type saying struct {
	answer
	left int
}

func newIntruder(t testing.TB, world, redis string) *intruder {
	t.Helper()
	i := &intruder{world: world, outside: &http.Transport{}, says: map[string]*saying{}}
	t.Cleanup(i.outside.CloseIdleConnections)
	for who, address := range map[string]*string{"slack": &i.slack, "service": &i.service} {
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) { i.serve(who, rw, req) }))
		t.Cleanup(server.CloseClientConnections)
		*address = server.Listener.Addr().String()
	}
	i.stored = betweenRedis(t, redis, i.pass)
	return i
}

// say makes it give an answer so many times; negative: until it is silenced.
func (i *intruder) say(a answer, times int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.says[a.from] = &saying{a, times}
}

func (i *intruder) silence(from string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.says, from)
}

// answers is what somebody says to a path or a command, and not the truth.
func (i *intruder) answers(from, to string) (answer, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.says[from]
	if s == nil || s.left == 0 || s.to != nil && !s.to.MatchString(to) {
		return answer{}, false
	}
	s.left--
	return s.answer, true
}

// serve passes a request on to Slack or the service. The proxy before both may answer first.
func (i *intruder) serve(who string, rw http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	if a, said := i.answers("proxy", ""); said {
		i.reply(rw, a.raw)
		return
	}
	if req.Header.Get("Upgrade") != "" {
		i.link(rw, req)
		return
	}
	a, said := i.answers(who, req.Method+" "+req.URL.Path)
	if said && !a.done {
		i.reply(rw, a.raw)
		return
	}
	sent := req.Clone(req.Context())
	sent.URL.Scheme, sent.URL.Host, sent.Host, sent.RequestURI = "http", i.world, i.world, ""
	sent.Body, sent.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	sent.Header.Del("Accept-Encoding")
	res, err := i.outside.RoundTrip(sent)
	if err != nil {
		i.reply(rw, "")
		return
	}
	defer res.Body.Close()
	right, err := io.ReadAll(res.Body)
	if err != nil {
		i.reply(rw, "")
		return
	}
	right = bytes.ReplaceAll(right, []byte("ws://"+i.world), []byte("ws://"+i.slack))
	switch {
	case said && a.spoil == nil:
		i.reply(rw, a.raw)
	case said:
		i.reply(rw, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"+string(a.spoil(right)))
	default:
		for name, values := range res.Header {
			if name != "Content-Length" {
				rw.Header()[name] = values
			}
		}
		rw.WriteHeader(res.StatusCode)
		_, _ = rw.Write(right)
	}
}

// reply writes bytes as they are, and ends the connection.
func (i *intruder) reply(rw http.ResponseWriter, raw string) {
	conn, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, raw)
}

// link passes a Socket Mode link on.
func (i *intruder) link(rw http.ResponseWriter, req *http.Request) {
	far, err := net.Dial("tcp", i.world)
	if err != nil {
		i.reply(rw, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return
	}
	defer far.Close()
	req.Host = i.world // which takes no other
	if req.Write(far) != nil {
		return
	}
	near, buffered, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	go func() {
		_, _ = io.Copy(far, buffered)
		far.Close()
	}()
	_, _ = io.Copy(near, far)
}

// pass passes a command on to Redis, unless it says something else.
func (i *intruder) pass(command value, on func() (value, error)) (raw []byte, err error) {
	a, said := i.answers("redis", strings.Join(command.words[:min(2, len(command.words))], " "))
	if raw = []byte(a.raw); !said || a.done {
		right, err := on()
		if err != nil {
			return nil, err
		}
		raw = right.raw
	}
	if said && a.done {
		raw = a.spoil(raw)
	}
	if said && a.ends {
		err = io.EOF
	}
	return raw, err
}
