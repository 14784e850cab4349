package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/sandbox/blockkit"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// clickTimes are how long after a signed click it was acknowledged, its call arrived at the service, and its card was redrawn.
type clickTimes struct{ acknowledged, called, drawn durations }

// BenchmarkClick is a signed click on Deny, each on another source: until it is acknowledged, by which it is written down in Redis; until its call
// arrives at the service; until the redrawn card arrives at Slack. Beside it in the same run a careless bot, which has all of that go wrong where
// anything does.
func BenchmarkClick(b *testing.B) {
	s := newStage(b, unlimited())
	bot := s.run(b, theBot)
	clicks := s.newClicks(b)
	var times, carelessTimes clickTimes
	for range enough {
		sent := clicks.timed(b, bot, &times)
		s.seen.await(b, "replied", sent.source) // the last that it does for a click: the next one finds it idle
	}
	bot.stop()
	careless := s.run(b, carelessClicker)
	for range enough {
		clicks.timed(b, careless, &carelessTimes)
	}
	for b.Loop() { // the stage has its own clock
	}
	for _, m := range []struct {
		what          string
		bot, careless durations
	}{{"ack", times.acknowledged, carelessTimes.acknowledged}, {"call", times.called, carelessTimes.called}, {"card", times.drawn, carelessTimes.drawn}} {
		reportBeside(b, m.what+"-", m.bot, m.careless)
	}
}

// clicks makes clicks on Deny as Slack sends them, each signed and of another source, whose answers come to the stage.
type clicks struct {
	s       *stage
	payload map[string]any
	n       int
}

// newClicks takes the first click off a card of wafbot's, and waits until it is carried out.
func (s *stage) newClicks(b *testing.B) *clicks {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patienceOfBench)
	defer cancel()
	card := s.card(b, "/clicked")
	i := slices.IndexFunc(card.Buttons(), func(button blockkit.Button) bool { return strings.HasPrefix(button.Value, "deny ") })
	require.GreaterOrEqual(b, i, 0, "%+v", card.Buttons())
	first, err := s.slack.Click(ctx, workspace.Click{User: "rob", Channel: "waf", TS: card.TS, Button: card.Buttons()[i].Value})
	require.NoError(b, err)
	_, err = s.slack.WaitEphemeral(ctx, "rob", func(m workspace.Message) bool { return says(m, "accepted by the service") })
	require.NoError(b, err)
	values, err := url.ParseQuery(first.EnvelopeBody)
	require.NoError(b, err)
	c := &clicks{s: s}
	require.NoError(b, json.Unmarshal([]byte(values.Get("payload")), &c.payload))
	c.payload["response_url"] = s.url + "/answer"
	return c
}

// card starts an attack and waits for its card.
func (s *stage) card(b *testing.B, path string) workspace.Message {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patienceOfBench)
	defer cancel()
	_, err := s.waf.StartAttack(waf.AttackSpec{Path: path, Hits: 100, Started: waf.Duration(time.Minute)})
	require.NoError(b, err)
	card, err := s.slack.WaitMessage(ctx, "#waf", func(m workspace.Message) bool { return says(m, path) })
	require.NoError(b, err)
	return card
}

// clicked is a click that was acknowledged.
type clicked struct {
	source       string // to be denied
	at           time.Time
	acknowledged time.Duration // after that
}

// click sends the next click.
func (c *clicks) click(b *testing.B, to *program) clicked {
	b.Helper()
	c.n++
	sent := clicked{source: fmt.Sprintf("45.0.%d.%d", c.n/250, 1+c.n%250)}
	action := c.payload["actions"].([]any)[0].(map[string]any)
	line := strings.Fields(action["value"].(string))
	line[1] = sent.source
	c.payload["trigger_id"], action["value"] = strconv.Itoa(c.n), strings.Join(line, " ")
	text, err := json.Marshal(c.payload)
	require.NoError(b, err)
	body := url.Values{"payload": {string(text)}}.Encode()
	req := signedRequest(b, to.address+"/slack/interactions", form, body, benchSecret, time.Now())
	sent.at = time.Now()
	res, err := http.DefaultClient.Do(req)
	require.NoError(b, err)
	_, err = io.Copy(io.Discard, res.Body)
	sent.acknowledged = time.Since(sent.at)
	require.NoError(b, err)
	res.Body.Close()
	require.Equal(b, http.StatusOK, res.StatusCode)
	return sent
}

// timed clicks, waits until the click is answered, and adds how long each part of it took.
func (c *clicks) timed(b *testing.B, to *program, times *clickTimes) clicked {
	b.Helper()
	sent := c.click(b, to)
	times.acknowledged.add(sent.acknowledged)
	called := c.s.seen.await(b, "called", sent.source)
	times.called.add(called.Sub(sent.at))
	times.drawn.add(c.s.seen.awaitAfter(b, "drawn", "", called).Sub(sent.at)) // one card shows all the clicks' changes, the last by name
	c.s.seen.await(b, "answered", sent.source)
	return sent
}

// atOnce clicks so many times without waiting, and returns how long each took until it was answered.
func (c *clicks) atOnce(b *testing.B, to *program, n int) (took durations) {
	b.Helper()
	var all []clicked
	for range n {
		all = append(all, c.click(b, to))
	}
	for _, one := range all {
		took.add(c.s.seen.await(b, "answered", one.source).Sub(one.at))
	}
	return took
}

// listing lists the emulated service's attacks from records that are written beforehand, so that what is measured is not the emulation, and so that
// many appear in one go. Until the first are prepared, and for all else, the service answers itself.
type listing struct {
	service http.Handler
	polls   chan struct{} // a poll began; not counted while nobody waits for it
	seen    *sightings

	mu      sync.Mutex
	records []*listedAttack // the newest first
	hidden  int             // of the newest, not listed yet
}

type listedAttack struct {
	text     json.RawMessage
	path     string
	incident bool
	seen     bool // in an answer
}

// prepare starts attacks that aren't listed before they are revealed. What was prepared before is.
func (l *listing) prepare(b *testing.B, service *waf.Service, specs []waf.AttackSpec) {
	b.Helper()
	for _, spec := range specs {
		_, err := service.StartAttack(spec)
		require.NoError(b, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records, l.hidden = readListing(b, service), len(specs)
}

// readListing is all that the service lists.
func readListing(b *testing.B, service http.Handler) (records []*listedAttack) {
	b.Helper()
	records = []*listedAttack{} // that none is listed is prepared, too
	for {
		query := fmt.Sprintf(`{"filter":{"clientid":[5]},"order_by":"last_time","order_desc":true,"offset":%d,"limit":1000}`, len(records))
		r := httptest.NewRequest(http.MethodPost, "/v1/objects/attack", strings.NewReader(query))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-ServiceApi-Token", "token")
		answer := httptest.NewRecorder()
		service.ServeHTTP(answer, r)
		var page struct{ Body []json.RawMessage }
		require.NoError(b, json.Unmarshal(answer.Body.Bytes(), &page), answer.Body)
		for _, text := range page.Body {
			var fields struct {
				Path   string
				VulnID *int
			}
			require.NoError(b, json.Unmarshal(text, &fields))
			records = append(records, &listedAttack{text: text, path: fields.Path, incident: fields.VulnID != nil})
		}
		if len(page.Body) == 0 {
			return records
		}
	}
}

// reveal lists so many more, the oldest first.
func (l *listing) reveal(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hidden -= n
}

// awaitPolls waits until a poll has begun, and so many more.
func (l *listing) awaitPolls(more int) {
	for range 1 + more {
		<-l.polls
	}
}

// ServeHTTP implements http.Handler.
func (l *listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/objects/attack" {
		l.service.ServeHTTP(w, r)
		return
	}
	var query struct {
		Filter        map[string]any
		Offset, Limit int
	}
	body := readBody(r)
	_ = json.Unmarshal(body, &query)
	_, incidents := query.Filter["!vulnid"]
	if query.Offset == 0 && !incidents {
		select {
		case l.polls <- struct{}{}:
		default:
		}
	}
	if answer, ok := l.page(query.Offset, query.Limit, incidents); ok {
		_, _ = w.Write(answer)
		return
	}
	l.service.ServeHTTP(w, r)
}

// page is an answer, unless nothing is prepared.
func (l *listing) page(offset, limit int, incidents bool) (answer []byte, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.records == nil {
		return nil, false
	}
	listed := l.records[l.hidden:]
	if incidents {
		listed = slices.DeleteFunc(slices.Clone(listed), func(a *listedAttack) bool { return !a.incident })
	}
	listed = listed[min(offset, len(listed)):min(offset+limit, len(listed))]
	answer = []byte(`{"status":200,"body":[`)
	for i, a := range listed {
		if i > 0 {
			answer = append(answer, ',')
		}
		answer = append(answer, a.text...)
		if !a.seen {
			a.seen = true
			l.seen.add("listed", a.path, time.Now())
		}
	}
	return append(answer, `]}`...), true
}

// BenchmarkShown is attacks that appear at once: how long after the service's first answer with one of them all are posted, by wafbot and by a careless
// poller, how many never are, how many twice, and what each costs.
func BenchmarkShown(b *testing.B) {
	rough := roughPosts{every500: 7, everyLost: 11, takes: 80 * time.Millisecond}
	for _, row := range []shownRow{
		{name: "60 while Slack is rough", attacks: 60, troubles: []trouble{rough}},
		{name: "100 while Slack and the service are rough", attacks: 100, troubles: []trouble{rough, roughService{every500: 10}}},
		{name: "1000", attacks: 1000},
		{name: "200 while Slack takes 80 ms", attacks: 200, troubles: []trouble{roughPosts{takes: 80 * time.Millisecond}}},
		{name: "200 above 20000 older", attacks: 200, older: 20_000},
		{name: "20 under Slack's limits", attacks: 20, troubles: []trouble{slackLimits{}}},
	} {
		b.Run(row.name, func(b *testing.B) {
			var bot, careless plays
			sample(b, 3, func(round int) {
				bot = append(bot, row.play(b, theBot, round))
				careless = append(careless, row.play(b, carelessPoller, round))
			})
			row.report(b, bot, careless)
		})
	}
}

// shownRow is so many attacks, above older ones that are known, in trouble.
type shownRow struct {
	name           string
	attacks, older int
	troubles       []trouble
}

// outcome is what one program made of a row.
type outcome struct {
	took, cpu       time.Duration
	requests, bytes int64 // of the service
	lost, twice     int
}

// play has a program play the row, alone.
func (row shownRow) play(b *testing.B, name string, round int) (o outcome) {
	b.Helper()
	s := newStage(b, unlimited())
	for _, t := range row.troubles {
		t.befall(b, s, round)
	}
	s.listing.prepare(b, s.waf, row.olderSpecs())
	s.listing.reveal(row.older)
	p := s.run(b, name)
	defer p.stop()
	s.listing.awaitPolls(2) // what is listed is known
	s.listing.prepare(b, s.waf, row.specs())
	cpu := p.cpu(b)
	s.requests.Store(0)
	s.bytes.Store(0)
	s.listing.reveal(row.attacks)
	s.seen.until("posted", row.attacks)
	o = outcome{cpu: p.cpu(b) - cpu, requests: s.requests.Load(), bytes: s.bytes.Load()}
	if name == theBot {
		p.awaitRecorded(b)
	}
	posted, twice := s.seen.first("posted")
	listed, _ := s.seen.first("listed")
	var begun, done time.Time
	for path, at := range posted {
		if begun.IsZero() || listed[path].Before(begun) {
			begun = listed[path]
		}
		if at.After(done) {
			done = at
		}
	}
	o.took, o.lost, o.twice = done.Sub(begun), row.attacks-len(posted), twice
	return o
}

// specs are the attacks that are to be posted.
func (row shownRow) specs() (specs []waf.AttackSpec) {
	for n := range row.attacks {
		spec := waf.AttackSpec{Path: fmt.Sprintf("/shown/%d", n), Hits: 100, Started: waf.Duration(time.Minute)}
		specs = append(specs, spec)
	}
	return specs
}

// olderSpecs are attacks that are too small for a card. They were hit a minute ago, so each poll reads them again.
func (row shownRow) olderSpecs() (specs []waf.AttackSpec) {
	for n := range row.older {
		specs = append(specs, waf.AttackSpec{Path: fmt.Sprintf("/older/%d", n), Hits: 10, Started: waf.Duration(5 * time.Minute), Lasts: waf.Duration(4 * time.Minute)})
	}
	return specs
}

func (row shownRow) report(b *testing.B, bot, careless plays) {
	took, carelessTook := bot.took().median(), careless.took().median()
	b.ReportMetric(took.Seconds()*1000, "ms/shown")
	b.ReportMetric(slices.Max(bot.took()).Seconds()*1000, "max-ms/shown")
	b.ReportMetric(carelessTook.Seconds()*1000, "careless-ms/shown")
	b.ReportMetric(float64(took)/float64(carelessTook), "x-careless")
	b.ReportMetric(float64(row.attacks)/took.Seconds(), "shown/s")
	row.reportCost(b, "", bot)
	row.reportCost(b, "careless-", careless)
	b.ReportMetric(0, "ns/op") // it has waiting in it
}

// reportCost reports means of all rounds.
func (row shownRow) reportCost(b *testing.B, of string, all plays) {
	sum, rounds := all.sum(), float64(len(all))
	b.ReportMetric(float64(sum.lost)/rounds, of+"lost")
	b.ReportMetric(float64(sum.twice)/rounds, of+"twice")
	b.ReportMetric(float64(sum.requests)/rounds, of+"requests")
	b.ReportMetric(float64(sum.bytes)/rounds/1e6, of+"MB")
	if row.attacks >= 1000 { // for fewer the system's clock is too coarse
		b.ReportMetric(float64(sum.cpu.Microseconds())/rounds/float64(row.attacks), of+"cpu-µs/attack")
	}
}

type plays []outcome

func (all plays) took() (d durations) {
	for _, o := range all {
		d.add(o.took)
	}
	return d
}

func (all plays) sum() (sum outcome) {
	for _, o := range all {
		sum.cpu += o.cpu
		sum.requests += o.requests
		sum.bytes += o.bytes
		sum.lost += o.lost
		sum.twice += o.twice
	}
	return sum
}

// trouble is what goes wrong on a stage.
type trouble interface {
	befall(b *testing.B, s *stage, round int)
}

// roughPosts is a Slack that takes its time for a post, refuses every so manieth with 500, and accepts every so manieth without an answer. Each round
// it begins to count elsewhere: how long it all takes depends on whether one message meets it several times.
type roughPosts struct {
	every500, everyLost int64 // 0: none
	takes               time.Duration
}

func (t roughPosts) befall(_ *testing.B, s *stage, round int) {
	var count atomic.Int64
	count.Store(int64(round))
	posts := s.posts
	s.posts = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(t.takes)
		switch n := count.Add(1); {
		case t.every500 > 0 && n%t.every500 == 0:
			http.Error(w, "<html>fault</html>", http.StatusInternalServerError)
		case t.everyLost > 0 && n%t.everyLost == 0:
			posts.ServeHTTP(httptest.NewRecorder(), r)
			<-r.Context().Done()
		default:
			posts.ServeHTTP(w, r)
		}
	})
}

// roughService is a service that refuses every so manieth request with 500.
type roughService struct{ every500 int64 }

func (t roughService) befall(_ *testing.B, s *stage, _ int) {
	var count atomic.Int64
	service := s.service
	s.service = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if count.Add(1)%t.every500 == 0 {
			http.Error(w, "<html>fault</html>", http.StatusInternalServerError)
			return
		}
		service.ServeHTTP(w, r)
	})
}

// slackLimits is Slack's own limit of a message a second and channel.
type slackLimits struct{}

func (slackLimits) befall(_ *testing.B, s *stage, _ int) { s.slack.SetRateLimits(true) }

const (
	stormAttacks   = 1000
	stormIncidents = 12 // of them
)

// BenchmarkStorm is a thousand attacks, some of them incidents, in one go and over a minute, with Slack's limits on and the bot's pace as it is
// by default: how long after its beginning an incident's card can be clicked, how long after the last beginning the storm's card counts all that
// it grouped, how many messages there are beside the incidents', and how many attacks were posted never or twice.
func BenchmarkStorm(b *testing.B) {
	for _, c := range []struct {
		name string
		over time.Duration
	}{{"at once", 0}, {"within a minute", time.Minute}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				s := newStage(b, asIntended())
				s.slack.SetRateLimits(true)
				bot := s.run(b, theBot)
				_, err := s.slack.WaitMessage(b.Context(), "#waf", func(m workspace.Message) bool { return strings.Contains(m.Text, "wafbot watches") })
				require.NoError(b, err)
				s.storm(b, c.over)
				bot.stop()
			}
			b.ReportMetric(0, "ns/op") // it has waiting in it
		})
	}
}

// storm plays a storm and reports what was seen of it.
func (s *stage) storm(b *testing.B, over time.Duration) {
	b.Helper()
	started := make(chan map[string]time.Time, 1)
	var last time.Time
	go func() {
		starts := s.startStorm(b, over)
		last = time.Now()
		started <- starts
	}()
	shown, right := s.watchStorm(b, over+time.Minute)
	var delays []time.Duration
	for path, at := range <-started {
		delays = append(delays, shown[path].Sub(at))
	}
	slices.Sort(delays)
	t := tallyOf(s.slack.Messages("#waf"))
	b.ReportMetric(delays[0].Seconds(), "s/1st-incident")
	b.ReportMetric(delays[3].Seconds(), "s/4th-incident")
	b.ReportMetric(delays[len(delays)-1].Seconds(), "s/last-incident")
	b.ReportMetric(right.Sub(last).Seconds(), "s/storm-right")
	b.ReportMetric(float64(t.others), "messages-beside")
	b.ReportMetric(float64(stormAttacks-t.shown()), "lost")
	b.ReportMetric(float64(t.twice), "twice")
}

// watchStorm watches until all is posted: when each incident's card came, by path, and when the storm's card counted all that are no incidents.
func (s *stage) watchStorm(b *testing.B, most time.Duration) (shown map[string]time.Time, right time.Time) {
	b.Helper()
	shown = map[string]time.Time{}
	for deadline := time.After(most); ; {
		changed := s.slack.Watch() // before the look, so that nothing falls in between
		t := tallyOf(s.slack.Messages("#waf"))
		for path := range t.incidents {
			if _, known := shown[path]; !known {
				shown[path] = time.Now()
			}
		}
		if right.IsZero() && t.grouped+t.cards == stormAttacks-stormIncidents {
			right = time.Now()
		}
		if t.shown() == stormAttacks {
			return shown, right
		}
		select {
		case <-changed:
		case <-deadline:
			require.Fail(b, "not all were shown", "%d incidents, %d in all", len(shown), t.shown())
		}
	}
}

// startStorm starts the attacks, and returns when each incident began, by path. Most come from one source.
func (s *stage) startStorm(b *testing.B, over time.Duration) map[string]time.Time {
	begun, began := time.Now(), map[string]time.Time{}
	for n := range stormAttacks {
		time.Sleep(time.Until(begun.Add(over * time.Duration(n) / stormAttacks)))
		spec := waf.AttackSpec{
			Path: fmt.Sprintf("/storm/%d", n), Hits: 100, Started: waf.Duration(time.Minute),
			Sources: []waf.SourceSpec{{IP: "198.51.100.23", Country: "NL", PerSecond: 1}},
		}
		if n%(stormAttacks/stormIncidents) == 0 && len(began) < stormIncidents {
			spec.Vulnerability = &waf.VulnSpec{ID: 900 + n}
			began[spec.Path] = time.Now()
		}
		_, err := s.waf.StartAttack(spec)
		assert.NoError(b, err)
	}
	return began
}

// stormTally is what a channel's messages say of a storm.
type stormTally struct {
	incidents map[string]bool // with a card that can be clicked, by path
	cards     int             // of attacks that are no incidents
	grouped   int             // by the storm's card, and not shown by a card of their own
	others    int             // messages beside the incidents' cards
	twice     int             // cards more than one of the same attack
}

var (
	stormPath  = regexp.MustCompile(`/storm/\d+`)
	stormCount = regexp.MustCompile(`(?s) storm.*? · (?:at least )?([\d,]+) attacks`)
)

func tallyOf(messages []workspace.Message) (t stormTally) {
	t.incidents = map[string]bool{}
	attacks := map[string]bool{}
	for _, m := range messages {
		f := factsOf(m)
		path, attack := stormPath.FindString(m.Plain()), f.Payload.Attack
		switch {
		case f.Type != "wafbot_card":
			t.others++
			continue
		case strings.HasPrefix(attack, "s"):
			t.others++
			if found := stormCount.FindStringSubmatch(m.Plain()); found != nil {
				t.grouped, _ = strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
			}
		case f.Payload.Kind == "incident":
			t.incidents[path] = len(m.Buttons()) > 0
		default:
			t.cards++
			t.others++
		}
		if attacks[attack] {
			t.twice++
		}
		attacks[attack] = true
	}
	return t
}

// shown is how many attacks have a card or are counted in the storm's.
func (t stormTally) shown() int { return len(t.incidents) + t.cards + t.grouped }

// BenchmarkStuckDeny is a click on Deny whose call the service answers with 500, and wafbot is killed. As soon as it
// runs again, and the service is well again, another user clicks ten times on other targets of the account: how long
// until each of these is answered, beside ten clicks after a restart with nothing in hand, and how long until the first
// one is. A careless bot loses the first.
func BenchmarkStuckDeny(b *testing.B) {
	var bot, careless stuck
	sample(b, 3, func(int) {
		bot.play(b, theBot)
		careless.play(b, carelessClicker)
	})
	b.ReportMetric(bot.deny.median().Seconds()*1000, "deny-ms")
	b.ReportMetric(float64(bot.others.median())/float64(bot.undisturbed.median()), "others-x-undisturbed")
	b.ReportMetric(slices.Max(bot.others).Seconds()*1000, "others-max-ms")
	rounds := float64(len(bot.deny))
	b.ReportMetric(float64(bot.lost)/rounds, "lost")
	b.ReportMetric(float64(careless.lost)/rounds, "careless-lost")
	reportBeside(b, "others-", bot.others, careless.others)
}

// stuck is what became of clicks around a change that got stuck.
type stuck struct {
	undisturbed, others durations // of the account: after a kill with nothing in hand, and after it got stuck
	deny                durations // itself, since the program ran again
	lost                int       // of it
}

const otherClicks = 10

// Who clicks. Each one's clicks on an account take turns.
const (
	theClicker   = "U0ROB0002"
	otherClicker = "U0ANN0001"
)

// by has somebody else click from now on.
func (c *clicks) by(user string) { c.payload["user"].(map[string]any)["id"] = user }

func (o *stuck) play(b *testing.B, name string) {
	b.Helper()
	s := newStage(b, unlimited())
	var broken atomic.Bool
	failed := make(chan struct{}, 1)
	service := s.service
	s.service = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !broken.Load() || r.Method != http.MethodPost || r.URL.Path != "/v4/ip_rules" {
			service.ServeHTTP(w, r)
			return
		}
		http.Error(w, "<html>fault</html>", http.StatusInternalServerError)
		select {
		case failed <- struct{}{}:
		default:
		}
	})
	p := s.run(b, theBot)
	clicks := s.newClicks(b)
	p.stop()
	p = s.run(b, name)
	clicks.by(otherClicker)
	o.undisturbed = append(o.undisturbed, clicks.atOnce(b, p, otherClicks)...)
	broken.Store(true)
	clicks.by(theClicker)
	first := clicks.click(b, p)
	<-failed
	p.stop()
	clicks.by(otherClicker)
	broken.Store(false)
	p = s.run(b, name)
	defer p.stop()
	again := time.Now()
	o.others = append(o.others, clicks.atOnce(b, p, otherClicks)...)
	if name == theBot {
		o.deny.add(s.seen.await(b, "answered", first.source).Sub(again))
	}
	o.lost += 1 - s.denied(b, first.source)
}

// denied is how many entries the service has for a source.
func (s *stage) denied(b *testing.B, source string) (n int) {
	b.Helper()
	state, err := s.waf.State("default")
	require.NoError(b, err)
	for _, e := range state.IPRules {
		if e.Listed && strings.TrimSuffix(e.Subnet, "/32") == source {
			n++
		}
	}
	return n
}

// BenchmarkClicksWhileChangesAreSlow is five clicks on five targets at once while the service takes half a second to
// answer a change: how long until all are answered, as a ratio to that half second and to a careless bot.
func BenchmarkClicksWhileChangesAreSlow(b *testing.B) {
	const targets, takes = 5, 500 * time.Millisecond
	s := newStage(b, unlimited())
	s.slowChanges(takes)
	bot, careless := s.run(b, theBot), s.run(b, carelessClicker)
	clicks := s.newClicks(b)
	var took, carelessTook durations
	sample(b, 3, func(int) {
		carelessTook.add(slices.Max(clicks.atOnce(b, careless, targets))) // first: wafbot still draws when it has answered
		took.add(slices.Max(clicks.atOnce(b, bot, targets)))
	})
	b.ReportMetric(float64(took.median())/float64(takes), "x-one-answer")
	reportBeside(b, "", took, carelessTook)
}

// slowChanges has the service take its time to answer a change of its lists.
func (s *stage) slowChanges(takes time.Duration) {
	service := s.service
	s.service = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/v4/ip_rules" {
			time.Sleep(takes)
		}
		service.ServeHTTP(w, r)
	})
}

// BenchmarkUndoAtOnce is a patch that is undone as soon as it is accepted, when the service doesn't list it yet: its
// listings lag 2 s. How long until the user is told that it was undone, and how many patches are left at the service
// all the same. A careless bot deletes what is listed, and leaves it.
func BenchmarkUndoAtOnce(b *testing.B) {
	s := newStage(b, unlimited())
	s.run(b, theBot)
	var took durations
	sample(b, 5, func(n int) {
		path := fmt.Sprintf("/shown/%d", n)
		s.types(b, "patch attack="+factsOf(s.card(b, path)).Payload.Attack)
		s.told(b, "Patch exactly", path)
		begun := time.Now()
		s.types(b, "undo")
		s.told(b, "Undo of: Patch exactly", path)
		took.add(time.Since(begun))
	})
	left := s.patches(b)
	point := apiclient.Part{"header", "HOST"}
	patch := apiclient.Rule{
		Type: apiclient.RulePatch, AttackType: "sqli", Point: apiclient.Point{{"uri"}},
		Conditions: []apiclient.Condition{{Type: "iequal", Point: point, Value: "shop.example.com"}},
	}
	require.NoError(b, newCareless(s.url).undoPatch(context.Background(), patch))
	b.ReportMetric(took.median().Seconds()*1000, "ms/undone")
	b.ReportMetric(float64(left), "left")
	b.ReportMetric(float64(s.patches(b)-left), "careless-left")
	b.ReportMetric(0, "ns/op") // it has waiting in it
}

// types has a user type a line.
func (s *stage) types(b *testing.B, line string) {
	b.Helper()
	d, err := s.slack.Command(b.Context(), workspace.Command{User: "rob", Channel: "#waf", Text: line})
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, d.Status, "%+v", d)
}

// told waits until the user was told that something was accepted.
func (s *stage) told(b *testing.B, parts ...string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patienceOfBench)
	defer cancel()
	_, err := s.slack.WaitEphemeral(ctx, "rob", func(m workspace.Message) bool { return says(m, append(parts, "accepted by the service")...) })
	require.NoError(b, err)
}

// patches is how many patches the service has.
func (s *stage) patches(b *testing.B) int {
	b.Helper()
	state, err := s.waf.State("default")
	require.NoError(b, err)
	return len(slices.DeleteFunc(state.Rules, func(r waf.RuleState) bool { return !r.Listed || r.Type != apiclient.RulePatch }))
}
