//go:build image

package deploy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"
)

// patience is how long a test waits before it fails. The bot polls every 15 s.
const patience = 60 * time.Second

// world is the emulated service and workspace, driven through its JSON API.
type world struct {
	t   *testing.T
	url string
	env map[string]string // what points a bot at it
}

// openWorld starts the emulated world next to the containers. Clicks go to the given address.
func openWorld(t *testing.T, i image, deliver string) *world {
	t.Helper()
	p := start(t, exec.Command(filepath.Join(i.root, "wafbot"), "sandbox", "--deliver", deliver), "\n\n")
	w := &world{t: t, env: map[string]string{}}
	for _, line := range assignment.FindAllStringSubmatch(p.String(), -1) {
		w.env[line[2]] = line[3]
	}
	delete(w.env, "WAFBOT_LISTEN") // the image sets it
	w.url = strings.TrimSuffix(w.env["WAFBOT_SLACK_API_URL"], "/slack/api/") + "/sandbox"
	return w
}

// ask calls the API. With a body it posts.
func (w *world) ask(path string, body, answer any) {
	w.t.Helper()
	method, text := http.MethodGet, []byte(nil)
	if body != nil {
		var err error
		method = http.MethodPost
		text, err = json.Marshal(body)
		require.NoError(w.t, err)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, bytes.NewReader(text))
	require.NoError(w.t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer res.Body.Close()
	require.Equal(w.t, http.StatusOK, res.StatusCode, "%s", path)
	require.NoError(w.t, json.NewDecoder(res.Body).Decode(answer))
}

// until checks a condition after every change of the world until it holds.
func (w *world) until(what string, bot *process, ok func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/events", http.NoBody)
	require.NoError(w.t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer res.Body.Close()
	for events := bufio.NewScanner(res.Body); events.Scan(); {
		if strings.HasPrefix(events.Text(), "data:") && ok() {
			return
		}
	}
	w.t.Fatalf("never: %s\n%s", what, bot)
}

// attack starts an attack from an address.
func (w *world) attack(source string) {
	w.t.Helper()
	w.ask("/attacks", map[string]any{"hits": 1000, "sources": []any{map[string]any{"ip": source, "per_second": 4}}}, &struct{}{})
}

// denied reports whether an address is on the deny list.
func (w *world) denied(source string) bool {
	w.t.Helper()
	var state struct {
		IPRules []struct {
			Subnet string
			Listed bool
		} `json:"ip_rules"`
	}
	w.ask("/service/acme", nil, &state)
	for _, rule := range state.IPRules {
		if rule.Listed && rule.Subnet == source+"/32" {
			return true
		}
	}
	return false
}

// message is a message in #waf.
type message struct {
	TS       string          `json:"ts"`
	Text     string          `json:"text"`
	Blocks   json.RawMessage `json:"blocks"`
	Metadata struct {
		Type    string `json:"event_type"`
		Payload struct {
			Attack string `json:"attack"`
		} `json:"event_payload"`
	} `json:"metadata"`
}

func (w *world) messages() []message {
	w.t.Helper()
	var all struct{ Messages []message }
	w.ask("/slack/messages?user=rob&channel=waf", nil, &all)
	return all.Messages
}

// cards are the cards of attacks from an address.
func (w *world) cards(source string) (cards []message) {
	w.t.Helper()
	for _, m := range w.messages() {
		if m.Metadata.Type == "wafbot_card" && strings.Contains(m.Text, source) {
			cards = append(cards, m)
		}
	}
	return cards
}

// click waits for a card with a button, and clicks it as Rob, a responder.
func (w *world) click(source, button string, bot *process) {
	w.t.Helper()
	var ts string
	w.until(button+" on a card of "+source, bot, func() bool {
		for _, c := range w.cards(source) {
			if strings.Contains(string(c.Blocks), `"text":"`+button) {
				ts = c.TS
			}
		}
		return ts != ""
	})
	var deliveries struct {
		Status  int
		Warning string
	}
	w.ask("/slack/click", map[string]any{"user": "rob", "channel": "waf", "ts": ts, "button": button}, &deliveries)
	require.Equal(w.t, http.StatusOK, deliveries.Status)
	require.Empty(w.t, deliveries.Warning)
}

// submit waits until Rob sees the form of a title, and sends it off as it is filled in.
func (w *world) submit(title string, bot *process) {
	w.t.Helper()
	w.until("the form "+title, bot, func() bool {
		var seen struct {
			Modal *struct{ Raw slack.ModalViewRequest }
		}
		w.ask("/slack/views?user=rob", nil, &seen)
		return seen.Modal != nil && seen.Modal.Raw.Submit != nil && seen.Modal.Raw.Title.Text == title
	})
	var sent struct{ Outcome string }
	w.ask("/slack/submit", map[string]any{"user": "rob"}, &sent)
	require.Equal(w.t, "cleared", sent.Outcome)
}
