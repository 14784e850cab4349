package chaos

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/redistest"
)

// noon is the first time in these tests' evidence.
func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// asGood is a round without losses: an attack was posted, its source denied, its path patched, and another address
// denied and undone.
func asGood() *evidence {
	var acme state
	must(json.Unmarshal([]byte(`{
		"attacks": [{"id": "x:1", "path": "/item0001", "running": true}],
		"ip_rules": [{"id": 1, "list": "black", "subnet": "198.18.0.1/32", "reason": "wafbot c1111 by Rob", "listed": true}],
		"rules": [{"id": 9, "type": "vpatch", "words": "blocks sqli of path 0 absent, action_name equal \"item0001\"", "listed": true},
			{"id": 10, "type": "service_mode", "words": "sets mode block for instance equal \"4\"", "listed": true}]
	}`), &acme))
	id := attackID("acme", "x:1")
	e := &evidence{
		Begun: noon(), Services: map[string]state{"acme": acme}, Ephemerals: map[string][]message{}, Messages: []message{card(id, "d1", "1")},
		Printed: map[string]bool{id: true},
		Requests: []request{
			{User: "rob", Account: "acme", Line: "contain 198.18.0.1 account=acme attack=" + id, At: noon(), Acked: true, Answers: "http://r/1"},
			{User: "rob", Account: "acme", Line: "deny 2001:db8::1 for=1h", At: noon(), Acked: true, Answers: "http://r/2"},
			{User: "ann", Account: "acme", Line: "undo c2222", At: noon(), Acked: true, Answers: "http://r/3"},
		},
		Audit: []auditEntry{
			{Account: "acme", Line: "deny 198.18.0.1 attack=" + id, Outcome: "done", Change: "c1111", Attack: id},
			{Account: "acme", Line: "patch attack=" + id, Outcome: "done", Change: "c1112", Attack: id},
			{Account: "acme", Line: "deny 2001:db8::1 for=1h", Outcome: "done", Change: "c2222"},
			{Account: "acme", Line: "undo c2222", Outcome: "done", Change: "c3333"},
		},
	}
	return e
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func card(attack, delivery, ts string) (m message) {
	m.Channel, m.TS, m.Metadata.Type = "C0WAF0001", ts, "wafbot_card"
	m.Metadata.Payload.Account, m.Metadata.Payload.Attack, m.Metadata.Payload.Delivery = "acme", attack, delivery
	return m
}

func reply(delivery string) (m message) {
	m.Metadata.Payload.Delivery = delivery
	return m
}

// What a killed master alone had is forgotten: a time that is another by now, or none; not one that was copied, nor the
// place that followed.
func TestForgotten(t *testing.T) {
	full.Only(t)
	t.Parallel()
	old, promoted := redistest.StartDurable(t), redistest.Start(t)
	set := func(s *redistest.Server, delivery, value string) {
		_, err := askRedis(s.Addr, "SET {a:acme}:attempt:"+delivery+" "+value+" PX 60000")
		require.NoError(t, err)
	}
	for _, delivery := range []string{"lost", "again", "copied", "posted"} {
		set(old, delivery, "1700000000000")
	}
	set(promoted, "again", "1700000000001")
	set(promoted, "copied", "1700000000000")
	set(promoted, "posted", `"C0WAF0001 1700000000.000100"`)
	old.Kill()
	posts, err := forgotten(old, []*redistest.Server{promoted})
	require.NoError(t, err)
	require.Equal(t, []string{"lost", "again"}, posts)
}

// entries are the account's list; rules likewise.
func (e *evidence) change(do func(s *state)) {
	s := e.Services["acme"]
	do(&s)
	e.Services["acme"] = s
}

// The oracle must find each kind of error.
func TestTheOracle(t *testing.T) {
	t.Parallel()
	id := attackID("acme", "x:1")
	type wrong struct{ lost, twice, orphans, unaudited, apart int }
	for _, tt := range []struct {
		name string
		with func(e *evidence)
		want wrong
	}{
		{"all is well", func(*evidence) {}, wrong{}},
		{"wafbot extended a denial whose source keeps trying", func(e *evidence) {
			e.Audit = append(e.Audit, auditEntry{Account: "acme", Line: `extend c1111 for=4h reason="it is still trying"`, Outcome: "done", Change: "c4444", Before: []string{"as it was"}})
		}, wrong{}},
		{"no card", func(e *evidence) { e.Messages = nil }, wrong{lost: 1}},
		{"a card that no line tells of", func(e *evidence) { e.Printed = nil }, wrong{lost: 1}},
		{"no card, but grouped by a storm", func(e *evidence) {
			e.Messages = nil
			e.Ephemerals["ann"] = []message{{Text: "`s1234567` *1 of 1 NOT BLOCKED* · high storm · Shop: 1 attack " + id}}
		}, wrong{}},
		{"two cards", func(e *evidence) { e.Messages = append(e.Messages, card(id, "d2", "2")) }, wrong{twice: 1}},
		{"two cards after a fail-over that lost the record of the first", func(e *evidence) {
			e.Messages = append(e.Messages, card(id, "d1", "2"))
			e.Losses = []loss{{time.Unix(1, 0), cluster, []string{"d1"}}}
		}, wrong{apart: 1}},
		{"three cards after it", func(e *evidence) {
			e.Messages = append(e.Messages, card(id, "d1", "2"), card(id, "d1", "3"))
			e.Losses = []loss{{time.Unix(1, 0), cluster, []string{"d1"}}}
		}, wrong{twice: 1}},
		{"two cards after a fail-over that lost the record of another", func(e *evidence) {
			e.Messages = append(e.Messages, card(id, "d1", "2"))
			e.Losses = []loss{{time.Unix(1, 0), cluster, []string{"d2"}}}
		}, wrong{twice: 1}},
		{"two cards after redis was emptied", func(e *evidence) {
			e.Messages = append(e.Messages, card(id, "d2", "2"))
			e.Losses = []loss{{time.Unix(1, 0), emptied, nil}}
		}, wrong{twice: 1}},
		{"a message twice", func(e *evidence) { e.Messages = append(e.Messages, reply("d9"), reply("d9")) }, wrong{twice: 1}},
		{"a message twice after a fail-over that lost the record of the first", func(e *evidence) {
			e.Messages = append(e.Messages, reply("d9"), reply("d9"))
			e.Losses = []loss{{time.Unix(1, 0), sentinel, []string{"d9"}}}
		}, wrong{apart: 1}},
		{"a card whose attack became an incident without a notification", func(e *evidence) {
			e.Incidents = []incident{{id, time.Unix(100, 0)}}
		}, wrong{lost: 1}},
		{"no entry", func(e *evidence) { e.change(func(s *state) { s.IPRules = nil }) }, wrong{lost: 1}},
		{"no entry, and the person knows why", func(e *evidence) {
			e.change(func(s *state) { s.IPRules = nil })
			e.Ephemerals["rob"] = []message{{Answers: "http://r/1", Text: "the service can't be reached"}}
		}, wrong{}},
		{"no entry, and the answer says that it is there", func(e *evidence) {
			e.change(func(s *state) { s.IPRules = nil })
			e.Ephemerals["rob"] = []message{{Answers: "http://r/1", Text: "accepted by the service"}}
		}, wrong{lost: 1}},
		{"no entry, and another person got the reason", func(e *evidence) {
			e.change(func(s *state) { s.IPRules = nil })
			e.Ephemerals["ann"] = []message{{Answers: "http://r/1", Text: "the service can't be reached"}}
		}, wrong{lost: 1}},
		{"no entry since redis was emptied", func(e *evidence) {
			e.change(func(s *state) { s.IPRules = nil })
			e.Losses = []loss{{noon().Add(time.Second), emptied, nil}}
		}, wrong{apart: 1}},
		{"no entry, not acknowledged", func(e *evidence) {
			e.change(func(s *state) { s.IPRules = nil })
			e.Requests[0].Acked = false
		}, wrong{}},
		{"two entries", func(e *evidence) { e.change(func(s *state) { s.IPRules = append(s.IPRules, s.IPRules...) }) }, wrong{twice: 1}},
		{"denied again without a look", func(e *evidence) {
			again := e.Audit[0]
			again.Change = "c4444"
			e.Audit = append(e.Audit, again)
		}, wrong{twice: 1}},
		{"denied again while the outcome of its undo was unknown", func(e *evidence) {
			again, undo := e.Audit[0], e.Audit[3]
			e.Requests = append(e.Requests, request{User: "ann", Account: "acme", Line: "undo c1111", At: noon()})
			again.At, again.Change, undo.Line, undo.Change = noon().Add(time.Second), "c4444", "undo c1111", "c5555"
			e.Audit = append(e.Audit, again, undo)
			e.change(func(s *state) { s.IPRules[0].Reason = "wafbot c4444 by Rob" })
		}, wrong{}},
		{"denied again before its undo was requested", func(e *evidence) {
			again, undo := e.Audit[0], e.Audit[3]
			e.Requests = append(e.Requests, request{User: "ann", Account: "acme", Line: "undo c1111", At: noon().Add(time.Minute)})
			again.At, again.Change, undo.Line, undo.Change = noon().Add(time.Second), "c4444", "undo c1111", "c5555"
			e.Audit = append(e.Audit, again, undo)
			e.change(func(s *state) { s.IPRules[0].Reason = "wafbot c4444 by Rob" })
		}, wrong{twice: 1}},
		{"denied again after it was undone, which began later", func(e *evidence) {
			e.Audit[0].N, e.Audit[1].N, e.Audit[2].N, e.Audit[3].N = 1, 2, 3, 4
			again, undo := e.Audit[0], e.Audit[3]
			again.N, again.Change, undo.N, undo.Line, undo.Change = 6, "c4444", 5, "undo c1111", "c5555"
			e.Audit = append(e.Audit, again, undo)
			e.change(func(s *state) { s.IPRules[0].Reason = "wafbot c4444 by Rob" })
		}, wrong{}},
		{"denied again after it was undone, and printed before it could be written down", func(e *evidence) {
			e.Audit[0].N, e.Audit[1].N, e.Audit[2].N, e.Audit[3].N = 1, 2, 3, 4
			again, undo := e.Audit[0], e.Audit[3]
			again.Change, undo.N, undo.Line, undo.Change = "c4444", 5, "undo c1111", "c5555"
			printed, written := again, again
			printed.N, written.N = 0, 6
			e.Audit = append(e.Audit, undo, printed, written)
			e.change(func(s *state) { s.IPRules[0].Reason = "wafbot c4444 by Rob" })
		}, wrong{}},
		{"an entry without a request", func(e *evidence) { e.Requests = e.Requests[1:]; e.change(func(s *state) { s.Rules = nil }) }, wrong{orphans: 1}},
		{"an entry that the log doesn't know", func(e *evidence) { e.Audit = e.Audit[1:] }, wrong{unaudited: 1}},
		{"an entry that the log doesn't know, for Redis was emptied before it was verified", func(e *evidence) {
			e.Audit = e.Audit[1:]
			e.change(func(s *state) { s.IPRules[0].Made = noon().Unix() })
			e.Losses = []loss{{noon().Add(3 * time.Second), emptied, nil}}
		}, wrong{apart: 1}},
		{"an entry that the log doesn't know, made after Redis was emptied", func(e *evidence) {
			e.Audit = e.Audit[1:]
			e.change(func(s *state) { s.IPRules[0].Made = noon().Unix() })
			e.Losses = []loss{{noon().Add(-time.Second), emptied, nil}}
		}, wrong{unaudited: 1}},
		{"an undo without effect", func(e *evidence) {
			e.change(func(s *state) {
				s.IPRules = append(s.IPRules, entry{List: "black", Subnet: "2001:db8::1/128", Reason: "wafbot c2222 by Rob", Listed: true})
			})
		}, wrong{lost: 1}},
		{"two patches", func(e *evidence) { e.change(func(s *state) { s.Rules = append(s.Rules, s.Rules[0]) }) }, wrong{twice: 1}},
		{"two modes", func(e *evidence) { e.change(func(s *state) { s.Rules = append(s.Rules, s.Rules[1]) }) }, wrong{twice: 1}},
		{"no patch", func(e *evidence) { e.change(func(s *state) { s.Rules = s.Rules[1:] }) }, wrong{lost: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := asGood()
			tt.with(e)
			v := judge(e)
			require.Equal(t, tt.want, wrong{len(v.lost), len(v.twice), len(v.orphans), len(v.unaudited), len(v.apart)}, "%+v", v)
		})
	}
}
