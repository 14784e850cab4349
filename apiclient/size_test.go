package apiclient_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/full"
)

// long are records whose texts an attacker made as long as he could.
func long(n, length int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = map[string]any{"attackid": fmt.Sprint("a:", i), "path": fmt.Sprintf("/%s%d", strings.Repeat("a", length), i), "hits": i}
	}
	return out
}

// An attacker whose requests make an answer too long must not stop the polls: the client requests smaller pages, and
// normal ones after them.
func TestAPageThatIsTooLongIsReadInParts(t *testing.T) {
	full.Only(t)
	t.Parallel()
	s := newService(t)
	s.lists["/v1/objects/attack"] = append(long(36, 1<<18), long(300, 10)...)
	require.Equal(t, 336, readAll(t, s.start()))
	var limits []int
	for _, r := range s.requests() {
		var q struct{ Limit int }
		require.NoError(t, json.Unmarshal([]byte(r.Body), &q))
		limits = append(limits, q.Limit)
	}
	require.Equal(t, []int{100, 50, 25, 25, 25, 50, 100, 100, 100, 100}, limits, "what isn't long is read as ever")
}

// The same where the way to the service is slow.
func TestAPageThatIsTooSlowIsReadInParts(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.lists["/v1/objects/attack"] = long(100, 10)
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if sent := s.requests(); !strings.Contains(sent[len(sent)-1].Body, `"limit":100`) {
			return false
		}
		_, _ = io.WriteString(w, strings.Repeat(" ", 1<<20))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
	c := s.start(func(cfg *apiclient.Config) { cfg.HTTP.Timeout, cfg.Tries = 3*time.Second, 1 })
	require.Equal(t, 100, readAll(t, c))
}

func readAll(t *testing.T, c *apiclient.Client) (n int) {
	t.Helper()
	for p, err := range c.Attacks(t.Context(), apiclient.AttackFilter{}) {
		require.NoError(t, err)
		n += len(p.Attacks)
	}
	return n
}

// A single record that is too long is skipped and named, and the rest is read. Where it is, the next reading knows.
func TestARecordThatIsTooLongIsSkipped(t *testing.T) {
	full.Only(t)
	t.Parallel()
	s := newService(t)
	rules := make([]any, 12)
	for i := range rules {
		rules[i] = map[string]any{"id": i + 1}
	}
	rules[4] = map[string]any{"id": 5, "comment": strings.Repeat("a", 9<<20)}
	s.lists["/v1/objects/hint"] = rules
	var log bytes.Buffer
	c := s.start(func(cfg *apiclient.Config) { cfg.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	asked := 0
	read := func() (ids []int64) {
		t.Helper()
		before := len(s.requests())
		got, err := drain(c.Rules(t.Context(), 0))
		require.NoError(t, err)
		for _, r := range got {
			ids = append(ids, r.ID)
		}
		asked = len(s.requests()) - before
		return ids
	}
	want := []int64{1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12}
	require.Equal(t, want, read())
	require.Equal(t, "list rules: record 5", c.TooLong())
	require.Less(t, asked, 20)
	require.Equal(t, want, read())
	require.Equal(t, 6, asked, "what is before it, it alone, and what is behind it: 1, 2 and 4 of them, and the end")
	require.Equal(t, 1, strings.Count(log.String(), "too long"), "said once: %s", &log)
	require.Contains(t, log.String(), `call="list rules" record=5`)

	s.lists["/v1/objects/hint"] = rules[5:]
	require.Len(t, read(), 7)
	require.Empty(t, c.TooLong())

	s.fault = body(200, strings.Repeat(" ", 9<<20))
	_, err := drain(c.Rules(t.Context(), 0))
	require.ErrorContains(t, err, "not read any further")
	require.Less(t, len(s.requests()), 80, "bounded")
}

// Of a text that is too long, the start is kept. It equals itself alone, and no patch is made from it.
func TestTextsOfAttacksAreBounded(t *testing.T) {
	t.Parallel()
	whole, longer := "/"+strings.Repeat("a", apiclient.MaxPath-1), "/"+strings.Repeat("é", 50_000)
	record := func(path string) string {
		return fmt.Sprintf(`{"attackid":"a:1","path":%q,"domain":%[1]q,"method":%[1]q,"parameter":"GET_%[2]s_value","type":%[1]q,"vulnid":%[1]q,"target":%[1]q,"block_status":%[1]q,"state":%[1]q}`, path, path)
	}
	of := func(path string) apiclient.Attack { return readAttacks(t, "["+record(path)+"]")[0] }
	require.Equal(t, whole, of(whole).Path)
	for _, at := range []int{-1, 0, 1} {
		path := "/" + strings.Repeat("a", apiclient.MaxPath-7+at) + "日本"
		require.Equal(t, len(path) <= apiclient.MaxPath, of(path).Path == path)
	}

	a, same, other := of(longer), of(longer), of(longer+"b")
	require.Equal(t, a, same)
	require.NotEqual(t, a.Path, other.Path)
	require.Contains(t, a.Path, "é… (100001 bytes, SHA-256 ")
	require.Less(t, len(a.Path), apiclient.MaxPath+150)
	for _, text := range []string{a.Domain, a.Method, a.Parameter, a.Type, a.VulnID, a.Target, a.BlockStatus, a.State} {
		require.Greater(t, len(text), 1_000)
		require.Less(t, len(text), 1_150)
	}
	require.True(t, a.Incident())
	for _, s := range []apiclient.Scope{{Path: a.Path}, {Host: a.Domain}, {Method: a.Method}} {
		_, err := apiclient.ScopeConditions(s)
		require.Error(t, err)
	}
	_, ok := apiclient.ParameterPoint(a.Parameter)
	require.False(t, ok)
	_, err := apiclient.ScopeConditions(apiclient.Scope{Path: whole})
	require.NoError(t, err)
}

// What reading a page of one record takes, as most are. 12 kB of memory when this was written.
func BenchmarkReadShortPage(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		readAttacks(b, `{"status":200,"body":[{"attackid":"a:1"}]}`)
	}
}

// A page is as long as an answer may be: what reading it takes.
func BenchmarkReadLongPage(b *testing.B) {
	path := strings.Repeat("a", 80_000)
	page := `{"status":200,"body":[` + strings.TrimSuffix(strings.Repeat(`{"attackid":"a:1","path":"/`+path+`"},`, 100), ",") + `]}`
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		readAttacks(b, page)
	}
}
