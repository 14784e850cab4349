package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

// clickTimes are how long after a signed click it was acknowledged, its call arrived at the service, and its card was redrawn.
type clickTimes struct{ acknowledged, called, redrawn durations }

// BenchmarkClick is a signed click on Deny, each on another source: until it is acknowledged, by which it is written down in Redis; until its call
// arrives at the service; until the redrawn card arrives at Slack. Beside it in the same run: a bare round trip of the same body, and a careless bot,
// which acknowledges at once, calls the service and edits the card, and has all of that go wrong where anything does.
func BenchmarkClick(b *testing.B) {
	s := newStage(b, limits{"{messages_per_second: 0, edits_per_minute: 100000}", "{over: 100000}"})
	s.serve(b)
	click := s.click(b)
	carelessly := s.careless(b)
	var wafbot, careless clickTimes
	var bare durations
	for n := range enough {
		body, header := click(n)
		bare.add(post(b, s.url+"/bare", body, header))
		s.clicked(b, &wafbot, s.bot+"/slack/interactions", body, header, source(n))
		<-s.answers
		s.await(b, "slack "+source(n)) // the reply under the card
		body, header = click(1000 + n)
		s.clicked(b, &careless, carelessly, body, header, source(1000+n))
	}
	for b.Loop() { // the stage has its own clock
	}
	for _, m := range []struct {
		what             string
		wafbot, careless durations
	}{{"ack", wafbot.acknowledged, careless.acknowledged}, {"call", wafbot.called, careless.called}, {"card", wafbot.redrawn, careless.redrawn}} {
		b.ReportMetric(float64(m.wafbot.median().Microseconds()), m.what+"-µs")
		b.ReportMetric(float64(m.careless.median().Microseconds()), m.what+"-careless-µs")
		b.ReportMetric(float64(m.wafbot.median())/float64(m.careless.median()), m.what+"-x-careless")
		b.ReportMetric(float64(m.wafbot.median())/float64(bare.median()), m.what+"-roundtrips")
	}
	b.ReportMetric(float64(bare.median().Microseconds()), "bare-µs")
	b.ReportMetric(0, "ns/op")
}

// source is the n-th address to be denied.
func source(n int) string { return fmt.Sprintf("45.0.%d.%d", n/250, 1+n%250) }

// clicked clicks, and adds how long it took until each part of it was done.
func (s *stage) clicked(b *testing.B, times *clickTimes, to, body string, header http.Header, source string) {
	b.Helper()
	begun := time.Now()
	times.acknowledged.add(post(b, to, body, header))
	times.called.add(s.await(b, "call "+source).Sub(begun))
	times.redrawn.add(s.await(b, "card "+source).Sub(begun))
}

// careless runs a bot as one would write it first, and returns where it takes clicks.
func (s *stage) careless(b *testing.B) (address string) {
	b.Helper()
	service, err := apiclient.New(apiclient.Config{BaseURL: s.url + "/service", Token: "token", ClientID: 5})
	require.NoError(b, err)
	client := slack.New("xoxb-bench", slack.OptionAPIURL(s.url+"/slack/api/"))
	deny := func(form url.Values) error {
		var p slack.InteractionCallback
		if err := json.Unmarshal([]byte(form.Get("payload")), &p); err != nil {
			return err
		}
		address := strings.Fields(p.ActionCallback.BlockActions[0].Value)[1]
		entry := apiclient.IPRule{
			List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.PrefixFrom(netip.MustParseAddr(address), 32), Apps: []int{apiclient.AllApps},
			Reason: "careless", Expires: time.Now().Add(4 * time.Hour),
		}
		if _, err := service.AddIPRule(context.Background(), entry, false); err != nil {
			return err
		}
		words := slack.NewTextBlockObject(slack.MarkdownType, fmt.Sprintf("Deny %s everywhere for 4 h: accepted by the service", address), false, false)
		_, _, _, err := client.UpdateMessage(p.Channel.ID, p.Container.MessageTs, slack.MsgOptionBlocks(slack.NewSectionBlock(words, nil, nil)))
		return err
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		verifier, err := slack.NewSecretsVerifier(r.Header, benchSecret)
		body, _ := io.ReadAll(io.TeeReader(r.Body, &verifier))
		if err != nil || verifier.Ensure() != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		form, _ := url.ParseQuery(string(body))
		go func() {
			if err := deny(form); err != nil {
				b.Error(err)
			}
		}()
	}))
	b.Cleanup(server.Close)
	return server.URL
}

// seeClick notes the call of a click that arrives at the service, and the card that shows what came of it.
func (s *stage) seeClick(r *http.Request) {
	at := time.Now()
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch r.URL.Path {
	case "/v4/ip_rules":
		if r.Method == http.MethodPost {
			s.see("call", string(body), at)
		}
	case "/api/chat.update":
		form, _ := url.ParseQuery(string(body))
		for line := range strings.SplitSeq(form.Get("blocks"), "Deny ") { // each change begins with it
			if strings.Contains(line, "accepted by the service") {
				s.see("card", line, at)
			}
		}
	}
}
