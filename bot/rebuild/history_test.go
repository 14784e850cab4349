package rebuild

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// archive is Slack's history: messages by channel, or by channel and thread. It answers without a network, so that a
// bubble's time passes.
type archive struct {
	t       *testing.T
	pages   map[string][][]map[string]any
	refused map[string]string // by channel
	ill     []string          // what is answered first, one each: a status, or the name of an error
	endless string            // a channel whose last page is followed by its second
	shown   string            // how far the rebuild is
	asked   []url.Values
}

func (a *archive) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	require.NoError(a.t, err)
	form, err := url.ParseQuery(string(text))
	require.NoError(a.t, err)
	answer := func(status int, body string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {"30"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
	if strings.HasSuffix(r.URL.Path, "/auth.test") {
		return answer(http.StatusOK, `{"ok":true,"team_id":"T0","user_id":"U0BOT","bot_id":"B0OURS"}`)
	}
	require.Equal(a.t, "Bearer xoxb-1", r.Header.Get("Authorization"))
	require.Equal(a.t, "true", form.Get("include_all_metadata"))
	a.asked = append(a.asked, form)
	require.Less(a.t, len(a.asked), 1_000, "it goes on and on")
	if len(a.ill) > 0 {
		ill := a.ill[0]
		a.ill = a.ill[1:]
		switch ill {
		case "429":
			return answer(http.StatusTooManyRequests, `{"ok":false,"error":"ratelimited"}`)
		case "500":
			return answer(http.StatusInternalServerError, "<html>")
		case "gone":
			return nil, io.ErrUnexpectedEOF
		}
		return answer(http.StatusOK, `{"ok":false,"error":"`+ill+`"}`)
	}
	if name := a.refused[form.Get("channel")]; name != "" {
		return answer(http.StatusOK, `{"ok":false,"error":"`+name+`","needed":"channels:history"}`)
	}
	pages := a.pages[strings.TrimSpace(form.Get("channel")+" "+form.Get("ts"))]
	n := len(form.Get("cursor"))
	page := map[string]any{"ok": true, "messages": []any{}}
	if n < len(pages) {
		page["messages"] = pages[n]
	}
	if n+1 < len(pages) {
		page["response_metadata"] = map[string]any{"next_cursor": strings.Repeat("x", n+1)}
	} else if form.Get("channel") == a.endless {
		page["response_metadata"] = map[string]any{"next_cursor": "x"}
	}
	body, err := json.Marshal(page)
	require.NoError(a.t, err)
	return answer(http.StatusOK, string(body))
}

// rebuild reads C1 and C2 as acme.
func (a *archive) rebuild(log io.Writer) *Rebuild {
	return &Rebuild{found: newFound(), known: map[string]bool{}, Config: Config{
		Account: &config.Account{Name: "acme", Channel: "C1"}, Channels: []string{"C1", "C2"}, Clocks: clock.New(),
		Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-1", APIURL: "http://slack/api/", HTTP: &http.Client{Transport: a}}),
		Show:  func(_, progress string) { a.shown = progress }, Log: slog.New(slog.NewTextHandler(log, nil)),
	}}
}

// read is what the channels hold, and what the threads add: the last of each change.
func (a *archive) read(t *testing.T) (channels, all found, changes map[string]record.Change, logged string) {
	var log bytes.Buffer
	a.t = t
	r := a.rebuild(&log)
	require.NoError(t, r.readChannels(t.Context(), now.Add(-30*24*time.Hour)))
	channels = r.found
	channels.changes = maps.Clone(channels.changes)
	require.NoError(t, r.readAll(t.Context(), r.queue, showThreads))
	changes = map[string]record.Change{}
	for _, c := range r.posted() {
		require.NotContains(t, changes, c.ID)
		changes[c.ID] = c
	}
	require.NotContains(t, log.String(), "xoxb")
	return channels, r.found, changes, log.String()
}

// posted is a message of wafbot with that metadata.
func posted(ts, kind string, payload map[string]any) map[string]any {
	return map[string]any{"ts": ts, "bot_id": "B0OURS", "user": "U0BOT", "text": "…", "metadata": map[string]any{"event_type": kind, "event_payload": payload}}
}

func with(m map[string]any, key string, value any) map[string]any {
	m[key] = value
	return m
}

// now is when the messages of the tests are read.
var now = time.Date(2026, 11, 21, 3, 5, 10, 0, time.UTC)

// incident is the card of an incident.
func incident() call.Situation {
	a := apiclient.Attack{ID: "attacks_production_5_202611_v_1:aZ_1", Type: "sqli", Hits: apiclient.Known(1530), BlockStatus: "monitored", VulnID: "812", Last: now}
	return call.Situation{
		Account: &config.Account{Name: "acme"}, ID: record.AttackID("acme", a.ID), Attack: a, Now: now,
		Mention: "S0ONCALL", Delivery: "0123456789abcdef0123456789abcdef",
	}
}

func cardMeta(change ...func(c *call.Situation)) map[string]any {
	c := incident()
	for _, f := range change {
		f(&c)
	}
	return card.Render(c).Metadata.EventPayload
}

// worseMeta is what a reply under the card of an attack that got worse carries.
func worseMeta(a apiclient.Attack) map[string]any {
	return card.Worse(&config.Account{Name: "acme"}, record.Event{At: now, Attack: &record.AttackState{Attack: a}}, "").Metadata.EventPayload
}

// denied is a change, patched another one with a rule of its own.
func denied() record.Change {
	return record.Change{
		ID: "c7k2m9xw4", Account: "acme", Line: record.Line{Name: "deny", Words: []string{"203.0.113.7"}}, Does: "Deny 203.0.113.7 everywhere for 4 h",
		Actor: record.Actor{ID: "U0ANN", Name: "Anna Weber", Via: record.ViaButton}, At: now, Until: now.Add(4 * time.Hour), State: record.StateDone,
	}
}

func patched() record.Change {
	ch := denied()
	ch.ID, ch.Line, ch.Does = "c4p8t2rz1", record.Line{Name: "patch"}, "Patch exactly POST shop.example.com/login for 7 days"
	ch.Steps = []record.Step{{Kind: record.CreateRule, Rule: &apiclient.Rule{Type: apiclient.RulePatch}, Sent: true, Done: true, ID: 77}}
	return ch
}

func attackOnly(c *call.Situation) { c.Attack.VulnID = "" }

var (
	cardID    = record.AttackID("acme", incident().Attack.ID)
	cardFacts = record.CardMetadata{
		AttackID: incident().Attack.ID, Incident: true, Status: apiclient.StatusNotBlocked, Decade: 4, Channel: "C1", Mention: "S0ONCALL",
	}
)

func TestReadHistory(t *testing.T) {
	t.Parallel()
	done, begun := denied(), denied()
	begun.State = record.StateBegun
	other := patched()
	a := &archive{pages: map[string][][]map[string]any{
		"C1": {
			{
				posted("1700000400.000001", card.MetaCard, cardMeta(attackOnly, func(c *call.Situation) { c.Quiet = true })), // an older one
				with(posted("1700000500.000001", card.MetaCard, cardMeta(attackOnly)), "thread_ts", "1700000500.000001"),
				posted("1700000600.000001", card.MetaMessage, map[string]any{"account": "acme"}),
				posted("1700000600.000002", card.MetaCard, map[string]any{"account": "globex"}),
				{"ts": "1700000600.000003", "user": "U1", "text": "hello"},
			},
			{
				posted("1700000100.000001", card.MetaStart, map[string]any{"account": "acme"}),
				// The channel shows this reply to a card from before what is read.
				with(posted("1700000200.000001", card.MetaWorse, worseMeta(apiclient.Attack{ID: "old"})), "thread_ts", "1600000000.000001"),
			},
		},
		"C1 1700000500.000001": {{
			posted("1700000500.000002", card.MetaChange, change.Metadata(done)[0]),
			posted("1700000500.000001", card.MetaCard, cardMeta(attackOnly)),
			posted("1700000500.000003", card.MetaWorse, worseMeta(incident().Attack)),
			posted("1700000500.000001", card.MetaChange, change.Metadata(begun)[0]),
		}},
		"C1 1600000000.000001": {{posted("1700000300.000001", card.MetaChange, change.Metadata(other)[0])}},
	}}
	channels, all, changes, log := a.read(t)
	require.Len(t, a.asked, 5, "all pages and threads")
	require.Empty(t, all.unread)
	require.Equal(t, time.Unix(1700000100, 0).UTC(), all.began)
	require.Equal(t, map[string]foundCard{cardID: {cardFacts, "1700000500.000001"}}, all.cards)
	require.Contains(t, log, "several cards")
	require.Equal(t, all.cards, channels.cards, "they stand in the channel")
	require.Empty(t, channels.changes)
	require.Len(t, changes, 2)
	require.Equal(t, record.StateDone, changes[done.ID].State, "as posted last")
	require.Equal(t, int64(77), changes[other.ID].Steps[0].ID)
	require.Equal(t, "C1", all.places[other.ID])
}

// A new incident waits for the channels alone: for a few pages, and none of the threads, whatever Slack's pace is.
func TestChannelsAreReadBeforeThreads(t *testing.T) {
	t.Parallel()
	const threads = 130
	var cards []map[string]any
	for i := range threads {
		ts, others := fmt.Sprintf("%d.000001", 1700000000+i), fmt.Sprintf("%d.000002", 1700000000+i)
		ours := with(posted(ts, card.MetaCard, cardMeta()), "thread_ts", ts)
		another := with(with(posted(others, card.MetaCard, cardMeta()), "thread_ts", others), "bot_id", "B0EVIL") // whose threads would only cost time
		cards = append(cards, ours, another)
	}
	a := &archive{t: t, pages: map[string][][]map[string]any{"C1": {cards}}}
	r := a.rebuild(io.Discard)
	var shown []string
	r.Show = func(_, progress string) { shown = append(shown, progress) }
	require.NoError(t, r.readChannels(t.Context(), now))
	require.Equal(t, "0 of 2 channels read; nothing is posted or changed until all are", shown[0])
	require.Len(t, a.asked, 2, "a page of each channel")
	require.Equal(t, "0 of 130 threads read; nothing is changed until all are", shown[len(shown)-1])
	require.NoError(t, r.readAll(t.Context(), r.queue, showThreads))
	require.Len(t, a.asked, 2+threads)
	require.Equal(t, "130 of 130 threads read; nothing is changed until all are", shown[len(shown)-1])
}

// Channels are read a second time for what a dying replica posted: a thread that shows then is read as far back as
// others.
func TestAThreadThatShowsLateIsReadWhole(t *testing.T) {
	t.Parallel()
	a := &archive{t: t, pages: map[string][][]map[string]any{}}
	r := a.rebuild(io.Discard)
	require.NoError(t, r.readChannels(t.Context(), now.Add(-30*24*time.Hour)))
	a.pages["C1"] = [][]map[string]any{{with(posted("1795230300.000001", card.MetaCard, cardMeta()), "thread_ts", "1700000000.000001")}}
	require.NoError(t, r.readChannels(t.Context(), now.Add(-time.Hour)))
	require.NoError(t, r.readAll(t.Context(), r.queue, showThreads))
	require.Len(t, r.found.cards, 1)
	asked := a.asked[len(a.asked)-1]
	require.Equal(t, "1700000000.000001", asked.Get("ts"))
	require.Equal(t, a.asked[0].Get("oldest"), asked.Get("oldest"))
	require.NotEqual(t, a.asked[2].Get("oldest"), asked.Get("oldest"))
}

// What was posted lately is known, so that it isn't posted again, in threads, too; a card is known as such.
func TestWhatWasDeliveredIsKnown(t *testing.T) {
	t.Parallel()
	at := func(ago time.Duration) string { return fmt.Sprintf("%d.000001", time.Now().Add(-ago).Unix()) }
	delivered := func(ts, delivery string) map[string]any {
		return posted(ts, card.MetaMessage, map[string]any{"account": "acme", "delivery": delivery})
	}
	summary, question, under := at(40*time.Minute), at(2*time.Hour), at(5*time.Hour)
	a := &archive{pages: map[string][][]map[string]any{
		"C1": {{
			delivered(summary, "summary-1"), delivered(at(25*time.Hour), "summary-0"), with(delivered(at(time.Hour), "evil"), "bot_id", "B0EVIL"),
			with(posted(under, card.MetaCard, cardMeta()), "thread_ts", under),
		}},
		"C1 " + under: {{delivered(question, "c7k2m9xw4:ends:1")}},
	}}
	_, all, _, _ := a.read(t)
	require.Equal(t, map[string]record.Place{"summary-1": {Channel: "C1", TS: summary}, "c7k2m9xw4:ends:1": {Channel: "C1", TS: question}}, all.delivered)
}

func TestMetadataOfOthersIsIgnored(t *testing.T) {
	t.Parallel()
	evil := func(m map[string]any, bot string) map[string]any { return with(m, "bot_id", bot) }
	person := func(m map[string]any, bot string) map[string]any { return with(evil(m, bot), "user", "U0EVE") }
	ch := denied()
	forged := change.Metadata(ch)[0]
	forged["d"] = strings.Replace(forged["d"].(string), "203.0.113.7", "0.0.0.0/0", 1)
	a := &archive{pages: map[string][][]map[string]any{"C1": {{
		evil(posted("1700000500.000001", card.MetaCard, cardMeta()), "B0EVIL"),
		evil(posted("1700000500.000002", card.MetaChange, change.Metadata(ch)[0]), "B0EVIL"),
		evil(posted("1700000500.000003", card.MetaStart, map[string]any{"account": "acme"}), ""),
		with(evil(posted("1700000500.000010", card.MetaCard, cardMeta()), "B0EVIL"), "user", "U0EVIL"), // another app
		person(posted("1700000500.000011", card.MetaCard, cardMeta()), ""),                             // copied by hand
		person(posted("1700000500.000012", card.MetaChange, change.Metadata(ch)[0]), "B0OURS"),         // by way of this app
		person(posted("1700000500.000013", card.MetaStart, map[string]any{"account": "acme"}), "B0EVIL"),
		posted("1700000500.000004", card.MetaChange, forged), // ours by its bot, and altered
		posted("1700000500.000005", card.MetaCard, with(cardMeta(), "attackid", "another")),
		posted("1700000500.000006", card.MetaCard, map[string]any{"account": "acme", "attack": 1, "attackid": []any{}, "hits_decade": "x", "quiet": 7}),
		with(posted("1700000500.000007", card.MetaCard, nil), "metadata", []any{"none"}),
		with(posted("1700000500.000008", card.MetaCard, nil), "metadata", map[string]any{"event_type": 1, "event_payload": "x"}),
		with(posted("1700000500.000009", card.MetaMessage, nil), "blocks", []any{map[string]any{"type": "context", "elements": []any{map[string]any{"type": "hologram"}}}}),
	}}}}
	_, all, changes, log := a.read(t)
	require.True(t, all.nothing())
	require.Empty(t, changes)
	require.Empty(t, all.delivered)
	require.Empty(t, all.unread)
	require.Contains(t, log, "a change can't be read back")
}

// A change whose last message isn't whole is as it was before; its parts may come in whatever order.
func TestAChangeInSeveralParts(t *testing.T) {
	t.Parallel()
	begun, done := denied(), denied()
	begun.State = record.StateBegun
	done.Steps = []record.Step{{Kind: record.DeleteRule, Rule: &apiclient.Rule{ID: 7, Type: apiclient.RuleRegex, Comment: strings.Repeat("why ", 300)}, Done: true}}
	parts := change.Metadata(done)
	require.Len(t, parts, 2)
	page := []map[string]any{posted("1700000500.000001", card.MetaChange, change.Metadata(begun)[0]), posted("1700000500.000002", card.MetaChange, parts[0])}
	_, _, changes, log := (&archive{pages: map[string][][]map[string]any{"C1": {page}}}).read(t)
	require.Equal(t, record.StateBegun, changes[done.ID].State)
	require.Contains(t, log, "it isn't whole")
	for _, ts := range []string{"1700000500.000003", "1700000400.000003"} {
		whole := append(slices.Clone(page), posted(ts, card.MetaChange, parts[1]), posted(ts+"1", card.MetaChange, parts[1]))
		_, _, changes, _ = (&archive{pages: map[string][][]map[string]any{"C1": {whole}}}).read(t)
		require.Equal(t, done.Steps[0].Rule, changes[done.ID].Steps[0].Rule)
	}
}

func TestReadHistoryGoesOnUntilSlackAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &archive{
			ill:   []string{"429", "gone", "500", "ratelimited", "token_revoked", "internal_error"},
			pages: map[string][][]map[string]any{"C2": {{posted("1700000500.000001", card.MetaCard, cardMeta())}}}, refused: map[string]string{"C1": "not_in_channel"},
		}
		begun := time.Now()
		_, all, _, _ := a.read(t)
		require.Equal(t, []string{"C1"}, all.unread)
		require.Len(t, all.cards, 1)
		require.GreaterOrEqual(t, time.Since(begun), 30*time.Second, "as long as Slack said")
		require.Less(t, time.Since(begun), 3*time.Minute)
	})
}

// A channel can't be read if Slack gives the same pages again and again. Reading, and the memory for it, would never
// end.
func TestAChannelWithoutEndCantBeRead(t *testing.T) {
	t.Parallel()
	page := []map[string]any{posted("1.1", card.MetaCard, cardMeta())}
	a := &archive{endless: "C1", pages: map[string][][]map[string]any{"C1": {page, page, page}, "C2": {page}}}
	_, all, _, log := a.read(t)
	require.Equal(t, []string{"C1"}, all.unread)
	require.Len(t, all.cards, 1)
	require.Contains(t, log, "slack's pages of messages don't end")
}

func TestChannelsThatCantBeReadAreNamed(t *testing.T) {
	t.Parallel()
	a := &archive{refused: map[string]string{"C1": "missing_scope", "C2": "missing_scope"}}
	_, all, _, _ := a.read(t)
	require.Equal(t, []string{"C1", "C2"}, all.unread)
	require.True(t, all.nothing())
	a = &archive{refused: map[string]string{"C1": "missing_scope", "C2": "not_in_channel"}}
	_, all, _, _ = a.read(t)
	require.Equal(t, []string{"C1", "C2"}, all.unread)
	a = &archive{refused: map[string]string{"C1": "missing_scope"}}
	_, all, _, _ = a.read(t)
	require.Equal(t, []string{"C1"}, all.unread, "the other one can be read")
}
