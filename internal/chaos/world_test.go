package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// world is the emulated service and workspace in their own process, driven through the JSON API.
type world struct {
	url  string
	env  map[string]string // what points a bot at it
	http *http.Client
}

// The world prints what points a bot at it, then an empty line.
var (
	environment = regexp.MustCompile(`(?s)(WAFBOT_.*?)\n\n`)
	variable    = regexp.MustCompile(`(?m)^(\w+)=(.*)$`)
)

// openWorld starts the emulated world; signed requests go to an address.
func openWorld(t testing.TB, binary, logs, deliver string) *world {
	t.Helper()
	_, said, err := start(t, logs, "sandbox", exec.Command(binary, "sandbox", "--deliver", deliver), environment)
	require.NoError(t, err)
	w := &world{env: map[string]string{}, http: &http.Client{Timeout: 20 * time.Second}}
	t.Cleanup(w.http.CloseIdleConnections)
	for _, m := range variable.FindAllStringSubmatch(said, -1) {
		w.env[m[1]] = m[2]
	}
	w.url = strings.TrimSuffix(w.env["WAFBOT_SLACK_API_URL"], "/slack/api/")
	return w
}

// get reads from the world's JSON API.
func (w *world) get(path string, answer any) error {
	res, err := w.http.Get(w.url + "/sandbox" + path)
	return read(path, res, err, answer)
}

// post sends to the world's JSON API.
func (w *world) post(path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	res, err := w.http.Post(w.url+"/sandbox"+path, "application/json", bytes.NewReader(text))
	return read(path, res, err, answer)
}

func read(path string, res *http.Response, err error, answer any) error {
	if err != nil {
		return fmt.Errorf("ask the world: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("ask the world %s: %w", path, err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the world %s: %d %s", path, res.StatusCode, text)
	}
	return json.Unmarshal(text, answer)
}

// accounts are those of the world, each with the channel that its config names.
func accounts() []account {
	return []account{
		{name: "acme", client: 5, channel: "C0WAF0001", apps: []int{4, 7}},
		{name: "globex", client: 9, channel: "C0WAF0002", apps: []int{2}},
	}
}

type account struct {
	name    string
	client  int
	channel string
	apps    []int
}

// elsewhere is a channel that a route names.
const elsewhere = "C0RANDOM3"

// channels lists the channels that the bot posts to.
func channels() []string { return []string{"C0WAF0001", "C0WAF0002", elsewhere} }

// people lists the users that act.
func people() []string { return []string{"U0ANN0001", "U0ROB0002", "U0VIC0003"} }

// state is the service's side of an account.
type state struct {
	Attacks []struct {
		ID       string    `json:"id"`
		Path     string    `json:"path"`
		Running  bool      `json:"running"`
		LastTime time.Time `json:"last_time"`
	} `json:"attacks"`
	IPRules []entry `json:"ip_rules"`
	Rules   []rule  `json:"rules"`
}

type entry struct {
	ID     int64    `json:"id"`
	List   string   `json:"list"`
	Type   string   `json:"rule_type"`
	Subnet string   `json:"subnet"`
	Values []string `json:"source_values"` // of countries and the like
	Reason string   `json:"reason"`
	Made   int64    `json:"created_at"` // Unix time
	Ends   int64    `json:"expired_at"` // likewise
	Listed bool     `json:"listed"`
}

type rule struct {
	ID     int64  `json:"id"`
	Type   string `json:"type"`
	Words  string `json:"words"`
	Listed bool   `json:"listed"`
}

// message is a message that a person sees.
type message struct {
	Channel   string          `json:"channel"`
	TS        string          `json:"ts"`
	Thread    string          `json:"thread_ts"`
	Bot       string          `json:"bot_id"`
	Text      string          `json:"text"`
	Blocks    json.RawMessage `json:"blocks"`
	Ephemeral bool            `json:"ephemeral"`
	Answers   string          `json:"answers"` // the response address that it came by
	Metadata  struct {
		Type    string `json:"event_type"`
		Payload struct {
			Account  string `json:"account"`
			Attack   string `json:"attack"`
			Delivery string `json:"delivery"`
		} `json:"event_payload"`
	} `json:"metadata"`
}

// says is the whole text of a message.
func (m message) says() string { return m.Text + "\n" + string(m.Blocks) }

// card reports whether it is an attack's.
func (m message) card() bool { return m.Metadata.Type == "wafbot_card" }

// button is what can be clicked: its value is the line that it runs.
type button struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// buttons are a message's.
func (m message) buttons() (lines []string) {
	var blocks []struct {
		Elements  []button `json:"elements"`
		Accessory button   `json:"accessory"`
	}
	if json.Unmarshal(m.Blocks, &blocks) != nil {
		return nil // a message without blocks
	}
	for _, b := range blocks {
		for _, e := range append(b.Elements, b.Accessory) {
			if e.Type == "button" && e.Value != "" {
				lines = append(lines, e.Value)
			}
		}
	}
	return lines
}

// messages are what a person sees in a channel.
func (w *world) messages(user, channel string) ([]message, error) {
	var all struct{ Messages []message }
	err := w.get("/slack/messages?user="+user+"&channel="+channel, &all)
	return all.Messages, err
}

func (w *world) service(account string) (s state, err error) {
	return s, w.get("/service/"+account, &s)
}

// delivery is the result of a click or a command.
type delivery struct {
	ID          int       `json:"id"`
	Acked       bool      `json:"acked"`
	Status      int       `json:"status"` // why it wasn't
	Body        string    `json:"body"`
	Err         string    `json:"err"`
	ResponseURL string    `json:"response_url"`
	Twin        *delivery `json:"twin"`
}

func (d delivery) acknowledged() bool { return d.Acked || d.Twin != nil && d.Twin.Acked }

// received lists the messages whose events the bot acknowledged, by timestamp.
func (w *world) received() (map[string]bool, error) {
	var all struct {
		Events []struct {
			Attempts []delivery
			Payload  struct{ Event struct{ TS string } }
		}
	}
	err := w.get("/slack/events", &all)
	received := map[string]bool{}
	for _, e := range all.Events {
		if slices.ContainsFunc(e.Attempts, delivery.acknowledged) {
			received[e.Payload.Event.TS] = true
		}
	}
	return received, err
}
