package record_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)

// details has one detail for each kind.
func details() map[record.EventKind]record.Detail {
	said, former, to := record.AttackFacts{Mention: "S0ONCALL", Suppressed: true}, record.AttackFacts{Former: "C1 1.1"}, record.AttackFacts{To: "U1"}
	change := record.ChangeFacts{Change: "c1", Until: noon}
	return map[record.EventKind]record.Detail{
		record.NewIncident: said, record.NewAttack: said, record.BecameIncident: said, record.Grew: said, record.Worsened: said,
		record.WentQuiet: said, record.Resumed: said,
		record.AttackEnded:          record.AttackFacts{},
		record.CardLost:             former,
		record.CardLeft:             former,
		record.FirstStart:           record.FirstStartFacts{Ongoing: 3, Grouped: 2, Incidents: 1},
		record.StoreRebuilt:         record.RebuildFacts{Cards: 1, Unknown: []string{"c1"}, Unreadable: true},
		record.APIUnreachable:       record.UnreachableFacts{Outage: record.Outage{From: noon, Why: "away"}, Fix: "wait", LastGood: noon},
		record.MonitoringGap:        record.GapFacts{From: noon, To: noon.Add(time.Hour), Began: []string{"x:1"}, Over: []string{"x:2"}},
		record.PermissionLost:       record.PermissionChanged{Since: noon},
		record.ApprovalAsked:        record.ApprovalChanged{Request: "r1"},
		record.ChangeSettled:        change,
		record.MitigationEnding:     change,
		record.EndOverdue:           change,
		record.MitigationNotWorking: change,
		record.DeniedSourceReturned: change,
		record.AckLapsed:            to,
		record.HandedOver:           to,
		record.TookOver:             to,
		record.PagerUnreachable:     record.PagerFault{Route: "kind incident", Why: "away"},
		record.ForeignRecords:       record.ForeignFacts{Records: 2},
		record.DrillChanged:         record.DrillFacts{Drill: "d1"},
		record.SummaryDue:           nil,
	}
}

// The outbox reads back what was put into it, whatever the kind.
func TestEventsReadBackExactly(t *testing.T) {
	t.Parallel()
	all := details()
	for kind, detail := range all {
		event := record.Event{ID: "n1", Account: "acme", Kind: kind, Subject: "x:1", Channel: "C1", At: noon, Order: 3, Detail: detail}
		text, err := json.Marshal(event)
		require.NoError(t, err)
		var back record.Event
		require.NoError(t, json.Unmarshal(text, &back), string(text))
		require.Equal(t, event, back)
	}
	source, err := os.ReadFile("event.go")
	require.NoError(t, err)
	require.Len(t, all, len(regexp.MustCompile(`(?m)^\t\w+ +EventKind = "`).FindAll(source, -1)), "each kind has a detail")
}

// Each kind is printed as docs/event.schema.json says, and the id is the event's alone.
func TestEventsArePrintedAsDocumented(t *testing.T) {
	t.Parallel()
	s, err := jsonschema.NewCompiler().Compile("../../docs/event.schema.json")
	require.NoError(t, err)
	schema, err := os.ReadFile("../../docs/event.schema.json")
	require.NoError(t, err)
	ids := map[string]bool{}
	all := details()
	state := record.AttackState{
		Attack: apiclient.Attack{ID: "x:1", Type: "sqli", First: noon, Last: noon.Add(time.Minute), Hits: apiclient.Known(7)},
		Quiet:  true, Storm: &record.Storm{Over: 10, Began: noon},
	}
	for kind, detail := range all {
		line, err := json.Marshal(record.Event{
			ID: "n1", Account: "acme", Kind: kind, Subject: "x:1", Channel: "C1", At: noon, Order: 3, Detail: detail, Request: "e1", Attack: &state,
		}.Print())
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(line), `{"event":{"kind":"`+kind.Name()+`"`), string(line))
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		require.NoError(t, err)
		require.NoError(t, s.Validate(doc), string(line))
		if _, ok := detail.(record.AttackFacts); ok {
			require.Contains(t, string(line), `"detail":{"attack":{"id":"x:1",`)
		}
		require.Contains(t, string(schema), `"`+kind.Name()+`"`)
		ids[doc.(map[string]any)["id"].(string)] = true
	}
	require.Len(t, ids, len(all), "an attack's card has one delivery, whichever event it is posted for")
	listed := strings.Split(regexp.MustCompile(`"enum": \[\s*("new_incident"[^]]*)\]`).FindStringSubmatch(string(schema))[1], ",")
	require.Len(t, listed, len(all), "no other is documented")
	former := record.Event{ID: "n2", Account: "acme", Kind: record.Grew}
	require.NotContains(t, ids, former.Print().ID)
	require.Equal(t, former.Print().ID, former.Print().ID)
}

func TestUnknownEventsAreErrors(t *testing.T) {
	t.Parallel()
	var event record.Event
	require.EqualError(t, json.Unmarshal([]byte(`{"id":"n1","kind":"of next year","detail":{}}`), &event), `read event n1: unknown event kind "of next year"`)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"id":"n1","reason":"new attack"}`), &event), `unknown event kind ""`)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"id":"n1","kind":"change"}`), &event), "read detail")
	require.ErrorContains(t, json.Unmarshal([]byte(`{"id":"n1","kind":"change","detail":[]}`), &event), "read detail")
}

func TestDeliveryIDsAreTheSameForAll(t *testing.T) {
	t.Parallel()
	a, b := record.Place{Channel: "C1", TS: "1.1"}, record.Place{Channel: "C1", TS: "2.2"}
	attack := record.AttackState{Attack: apiclient.Attack{ID: "x:1"}}
	lost := record.NewCardLost("acme", attack, a, false, noon)
	require.Equal(t, lost.ID, record.NewCardLost("acme", attack, a, false, noon.Add(time.Hour)).ID)
	require.NotEqual(t, lost.ID, record.NewCardLost("acme", attack, b, false, noon).ID)
	require.NotEqual(t, record.CardDelivery("acme", "x:1"), record.CardDelivery("acme", "x:2"))
	require.NotEqual(t, record.DeliveryID("acme", "", record.Grew, 1), record.DeliveryID("acme", "", record.Grew, 2))
}
