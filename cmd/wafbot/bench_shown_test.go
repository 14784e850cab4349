package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

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
