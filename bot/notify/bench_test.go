package notify

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// BenchmarkWaiting is what a message costs where so many wait for a channel without a pace, also as a ratio to where
// 100 wait.
func BenchmarkWaiting(b *testing.B) {
	few := 0.0
	for _, waiting := range []int{100, 1000, 4000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				took += postAll(b, waiting)
			}
			each := float64(took.Nanoseconds()) / float64(b.N*waiting)
			if waiting == 100 {
				few = each
			}
			b.ReportMetric(each/1000, "µs/message")
			b.ReportMetric(each/few, "x-100")
			b.ReportMetric(0, "ns/op") // one is of so many messages
		})
	}
}

// postAll has so many messages posted, which come to wait at once, the newest first.
func postAll(b *testing.B, waiting int) time.Duration {
	b.Helper()
	var events []record.Event
	for i := range waiting {
		at := now.Add(-time.Duration(i) * time.Second)
		events = append(events, record.Event{ID: fmt.Sprint(i), Account: "acme", Channel: "C1", Kind: record.PagerUnreachable,
			At: at, Detail: record.PagerFault{}})
	}
	n := made(Config{
		Slack:    slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: quick{}}}),
		Store:    newBox(b).Store,
		Accounts: []Account{{Account: &config.Account{Name: "acme", Channel: "C1"}}},
	})
	ctx, stop := context.WithCancel(b.Context())
	var owns sync.WaitGroup
	owns.Go(func() { n.Own(ctx, ctx, "acme", Unread{}) })
	for !n.Owns("acme") {
		time.Sleep(time.Millisecond)
	}
	begun := time.Now()
	n.Notify("acme", events)
	for left, _ := n.Backlog("acme"); left.Waiting > 0; left, _ = n.Backlog("acme") {
		time.Sleep(time.Millisecond)
	}
	took := time.Since(begun)
	stop()
	owns.Wait()
	return took
}

// quick is a Slack that takes everything at once.
type quick struct{}

// RoundTrip implements http.RoundTripper.
func (quick) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := io.NopCloser(strings.NewReader(`{"ok":true,"channel":"C1","ts":"1.1"}`))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: answer, Request: r}, r.Body.Close()
}
