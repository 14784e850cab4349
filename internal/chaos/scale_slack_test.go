package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// What the workspace and the bot know each other by.
const (
	scaleTeam   = "T0SCALE00"
	scaleToken  = "xoxb-scale"
	scaleSecret = "scale-signing-secret"
	scaleUser   = "U0ROB0002" // who clicks
)

func (s size) workspace(base string) workspace.Config {
	cfg := workspace.Config{
		TeamID: scaleTeam, BaseURL: base + "/slack", SigningSecret: scaleSecret, BotToken: scaleToken, Deliver: s.Deliver, Ingress: workspace.IngressHTTP,
		Users: []workspace.User{{ID: scaleUser, Name: "rob", RealName: "Rob Diaz", TeamID: scaleTeam}},
	}
	for c := range s.Channels {
		cfg.Channels = append(cfg.Channels, workspace.Channel{ID: channelOf(c, s.Channels), Name: fmt.Sprintf("waf-%d", c), BotIsMember: true})
	}
	return cfg
}

// clickable is a button.
type clickable struct {
	channel, ts, value string
}

// bucket is Slack's pace in a channel, as the bot is configured to keep it: four messages at once, then one a second.
type bucket struct {
	tokens float64
	at     time.Time
}

// turn takes a message that was ready then and came now, and returns when its turn was.
func (b *bucket) turn(ready, now time.Time) time.Time {
	const burst = 4
	if b.at.IsZero() {
		b.tokens, b.at = burst, ready
	}
	turn := ready
	if turn.Before(b.at) {
		turn = b.at
	}
	if left := b.tokens + turn.Sub(b.at).Seconds(); left < 1 {
		turn = turn.Add(time.Duration((1 - left) * float64(time.Second)))
	}
	b.tokens = max(0, min(burst, b.tokens+now.Sub(b.at).Seconds())-1)
	b.at = now
	return turn
}

var (
	scalePath   = regexp.MustCompile(`/scale/\d+`)
	scaleButton = regexp.MustCompile(`"value":"((?:ack|deny) [^"]*)"`)
)

// serveSlack gives calls to the workspace, and notes what it takes.
func (w *scaleWorld) serveSlack(out http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		w.answered("/slack"+r.URL.Path, at)
		w.slack.ServeHTTP(out, r)
		return
	}
	answer := httptest.NewRecorder()
	w.slack.ServeHTTP(answer, r)
	for name, values := range answer.Header() {
		out.Header()[name] = values
	}
	out.WriteHeader(answer.Code)
	_, _ = out.Write(answer.Body.Bytes())
	w.called(strings.TrimPrefix(r.URL.Path, "/api/"), body, answer)
}

func (w *scaleWorld) answered(path string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clicked, ok := w.clicks[path]
	if !ok {
		w.early[path] = at
		return
	}
	w.seen.Answered = append(w.seen.Answered, at.Sub(clicked))
	delete(w.clicks, path)
}

// called notes a call of the Web API.
func (w *scaleWorld) called(method string, body []byte, answer *httptest.ResponseRecorder) {
	var said struct {
		OK          bool
		Channel, TS string
	}
	_ = json.Unmarshal(answer.Body.Bytes(), &said)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case answer.Code == http.StatusTooManyRequests:
		w.seen.Refused++
	case said.OK && method == "chat.update":
		w.seen.Edits++
	case said.OK && method == "chat.postMessage":
		w.seen.Posts++
		form, _ := url.ParseQuery(string(body))
		w.posted(form, clickable{said.Channel, said.TS, ""})
	}
}

// posted notes a message. w.mu must be held.
func (w *scaleWorld) posted(form url.Values, message clickable) {
	at, channel := time.Now(), message.channel
	b := w.pace[channel]
	if b == nil {
		b = &bucket{}
		w.pace[channel] = b
	}
	text := form.Get("blocks") + form.Get("attachments")
	if begun := w.storms[channel]; !begun.IsZero() && strings.Contains(strings.ToLower(text), "storm") {
		w.seen.Storms = append(w.seen.Storms, at.Sub(begun))
		delete(w.storms, channel)
	}
	a, delivery := w.cards[scalePath.FindString(text)], cardDelivery(form)
	if a == nil || a.storm || delivery == "" || a.delivery != "" && a.delivery != delivery {
		b.turn(at, at)
		return
	}
	a.delivery = delivery
	turn := b.turn(a.listed, at)
	if a.posts++; a.posts > 1 {
		fmt.Fprintf(os.Stderr, "twice in %s, %s after the service's answer: %s %s\n", channel, at.Sub(a.listed), form.Get("metadata"), text)
		return
	}
	fmt.Fprintf(os.Stderr, "card in %s: %s\n", channel, form.Get("metadata"))
	w.seen.Cards, w.seen.Behind = append(w.seen.Cards, at.Sub(a.listed)), append(w.seen.Behind, max(0, at.Sub(turn)))
	for _, m := range scaleButton.FindAllStringSubmatch(text, 2) {
		message.value = m[1]
		w.last = append(w.last, message)
	}
}

// cardDelivery is the delivery of a message that is a card; "" of any other. Others name attacks, too: those that began
// in a monitoring gap.
func cardDelivery(form url.Values) string {
	var metadata struct {
		EventType    string `json:"event_type"`
		EventPayload struct {
			Delivery string `json:"delivery"`
		} `json:"event_payload"`
	}
	if err := json.Unmarshal([]byte(form.Get("metadata")), &metadata); err != nil || metadata.EventType != "wafbot_card" {
		return ""
	}
	return metadata.EventPayload.Delivery
}
