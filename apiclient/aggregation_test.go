package apiclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/full"
)

var friday = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// The specification's example, and what a service may make of each column.
func TestAttackDaysAreRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		row  string
		want apiclient.AttackDay
	}{
		"the specification's example": {
			`{"id":"v-1","ts_day":"2026-11-20","attack_type":"sqli","attack_type_label":"SQL Injection","attack_types":{"count":1,"values":["sqli"]},"hosts":{"count":2,"values":["a","b"]},"requests_count":1420,"unique_ips":37,"status":"Partially Blocked"}`,
			apiclient.AttackDay{ID: "v-1", Day: friday, Type: "sqli", Hosts: []string{"a", "b"}, Status: apiclient.StatusPartly},
		},
		"only selected columns": {
			`{"ts_day":"2026-11-20T00:00:00Z","attack_types":{"count":1,"values":["xss"]},"hosts":{"count":1,"values":["a"]},"status":{"count":1,"values":["Blocked"]}}`,
			apiclient.AttackDay{Day: friday, Type: "xss", Hosts: []string{"a"}, Status: apiclient.StatusBlocked},
		},
		"other spellings": {
			`{"id":["a",7],"ts_day":1795132799,"attack_types":["rce"],"hosts":"a","status":{"values":["Monitoring","Blocked"]}}`,
			apiclient.AttackDay{ID: "a:7", Day: friday.Add(-24 * time.Hour), Type: "rce", Hosts: []string{"a"}, Status: apiclient.StatusPartly},
		},
		"nothing that can be read": {
			`{"id":null,"ts_day":"soon","attack_type":{},"hosts":{"count":3,"values":null},"status":"Paused"}`,
			apiclient.AttackDay{Status: apiclient.StatusUnknown},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			s.fault = body(200, `{"data":[`+test.row+`,"no row",{"id":"n","attack_type":"warn"},{"id":"m","attack_types":{"count":1,"values":["warn"]}}],"next_cursor":null}`)
			got, err := s.start().AttackDays(t.Context(), 24)
			require.NoError(t, err)
			require.Equal(t, apiclient.AttackDays{Rows: []apiclient.AttackDay{test.want}}, got)
		})
	}
}

// days serves an aggregation in pages of 100 rows of which the last ones of a page come again on the next, with cursors
// as make makes them.
func days(s *service, rows, again int, cursor func(from int) any) {
	s.fault = func(w http.ResponseWriter, _ *http.Request) bool {
		sent := s.requests()
		var q struct{ Cursor json.RawMessage }
		_ = json.Unmarshal([]byte(sent[len(sent)-1].Body), &q)
		from, _ := strconv.Atoi(strings.Trim(string(q.Cursor), `{"t:}`)) // however it is wrapped; none: 0
		var page []any
		for i := from; i < min(from+100, rows); i++ {
			page = append(page, map[string]any{"id": fmt.Sprint("v", i), "ts_day": "2026-11-20", "attack_type": "sqli"})
		}
		var next any
		if from+100 < rows {
			next = cursor(from + 100 - again)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": page, "next_cursor": next})
		return true
	}
}

// A cursor goes back as it came, whatever it is, and all else is repeated. A row that comes twice is one.
func TestAttackDaysHavePages(t *testing.T) {
	t.Parallel()
	for name, cursor := range map[string]func(from int) any{
		"text":   func(from int) any { return fmt.Sprint("t:", from) },
		"number": func(from int) any { return from },
		"object": func(from int) any { return map[string]any{"t": from} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			days(s, 203, 2, cursor)
			got, err := s.start().AttackDays(t.Context(), 168)
			require.NoError(t, err)
			require.Len(t, got.Rows, 203)
			require.False(t, got.More)
			sent := s.requests()
			require.Len(t, sent, 3)
			for i, from := range []int{98, 196} {
				given, err := json.Marshal(cursor(from))
				require.NoError(t, err)
				require.JSONEq(t, strings.TrimSuffix(sent[0].Body, "}")+`,"cursor":`+string(given)+"}", sent[i+1].Body)
			}
		})
	}
}

// No more rows are read than a person can wait for, and it is said that there are more.
func TestAttackDaysHaveABound(t *testing.T) {
	t.Parallel()
	s := newService(t)
	days(s, 1_000_000, 0, func(from int) any { return from })
	got, err := s.start().AttackDays(t.Context(), 24)
	require.NoError(t, err)
	require.Len(t, got.Rows, 10_000)
	require.True(t, got.More)
	require.Len(t, s.requests(), 100)
}

func TestAttackDaysHaveABoundInBytes(t *testing.T) {
	full.Only(t)
	t.Parallel()
	s := newService(t)
	s.fault = func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = fmt.Fprintf(w, `{"data":[{"hosts":{"values":[%q]}}],"next_cursor":"%d"}`, strings.Repeat("a", 7<<20), len(s.requests()))
		return true
	}
	got, err := s.start().AttackDays(t.Context(), 24)
	require.NoError(t, err)
	require.True(t, got.More)
	require.Len(t, s.requests(), 3, "16 MiB")
}

func TestAttackDaysOfAServiceThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ answer, says string }{
		"the same page again and again": {`{"data":[{"id":"v-1"}],"next_cursor":"x"}`, "again and again"},
		"no rows":                       {`{"rows":[]}`, "answer holds no rows"},
		"refused":                       {`{"status":400,"body":{"time_range":{"error":"is invalid"}}}`, "time_range is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			s.fault = body(200, test.answer)
			_, err := s.start().AttackDays(t.Context(), 24)
			require.ErrorContains(t, err, test.says)
			require.LessOrEqual(t, len(s.requests()), 2)
		})
	}
	for _, ends := range []string{`{"data":[]}`, `{"data":null,"next_cursor":""}`, `{"data":[],"next_cursor":"on and on"}`} {
		s := newService(t)
		s.fault = body(200, ends)
		got, err := s.start().AttackDays(t.Context(), 24)
		require.NoError(t, err, ends)
		require.Empty(t, got)
		require.Len(t, s.requests(), 1)
	}
}

func TestAttackDaysOfMoreThanAWeekAreRefusedBeforeSending(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, hours := range []int{-1, 0, 169} {
		_, err := s.start().AttackDays(t.Context(), hours)
		require.Equal(t, apiclient.Invalid, apiclient.KindOf(err))
		require.Equal(t, map[string]string{"time_range": "must be 1 to 168 hours"}, asError(t, err).Fields)
	}
	require.Empty(t, s.requests())
}

// What was read until the deadline is given; where that is nothing, it is an error.
func TestAttackDaysUntilTheDeadline(t *testing.T) {
	t.Parallel()
	for _, pages := range []int{0, 1} {
		answers := times(pages, body(200, `{"data":[{"id":"v-1"}],"next_cursor":"x"}`))
		hangs := func(w http.ResponseWriter, r *http.Request) bool {
			if !answers(w, r) {
				<-r.Context().Done()
			}
			return true
		}
		inTime(t, hangs, func(t *testing.T, c *apiclient.Client, _ func() []time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			got, err := c.AttackDays(ctx, 24)
			require.Len(t, got.Rows, pages)
			require.Equal(t, pages > 0, got.More)
			require.Equal(t, pages > 0, err == nil, "%v", err)
		})
	}
}

// It ends with its context in the midst of the pages.
func TestAttackDaysEndWithTheirContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newService(t)
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if len(s.requests()) > 1 {
			cancel()
			<-r.Context().Done()
			return true
		}
		_, _ = io.WriteString(w, `{"data":[{"id":"v-1"}],"next_cursor":"x"}`)
		return true
	}
	_, err := s.start().AttackDays(ctx, 24)
	require.ErrorIs(t, err, context.Canceled)
}
