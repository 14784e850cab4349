package apiclient_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

func entries(n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = map[string]any{"id": i + 1, "rule_type": "ip_range", "list": "black", "subnet": fmt.Sprintf("10.0.%d.%d", i/256, i%256), "pools": []int{0}}
	}
	return out
}

func TestPagesAreReadToTheEnd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ records, cut, requests int }{
		{0, 0, 1}, {1, 0, 2}, {299, 0, 2}, {300, 0, 2}, {301, 0, 3}, {650, 0, 4}, // one request more than needed: see pages
		{650, 100, 8}, {7, 3, 4}, // a service that cuts the limit
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			s.cut = test.cut
			s.lists["/v4/ip_rules"] = entries(test.records)
			got, err := drain(s.start().IPRules(t.Context(), ""))
			require.NoError(t, err)
			require.Len(t, got, test.records)
			for i, r := range got {
				require.Equal(t, int64(i+1), r.ID)
			}
			require.Len(t, s.requests(), test.requests)
		})
	}
}

func TestAttacksComePageByPage(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.cut = 2
	s.lists["/v1/objects/attack"] = objects(t, `[{"attackid":"a"},"no record",{"attackid":"b"},null,{"attackid":"c"}]`)
	c := s.start()
	pages, err := drain(c.Attacks(t.Context(), apiclient.AttackFilter{}))
	require.NoError(t, err)
	var ids []string
	for _, p := range pages {
		for _, a := range p.Attacks {
			ids = append(ids, a.ID)
		}
	}
	require.Equal(t, []string{"a", "b", "c"}, ids)
	require.Len(t, pages, 3)
	require.Len(t, s.requests(), 4)
	require.Contains(t, s.requests()[2].Body, `"offset":4`) // what could not be read was received all the same

	for p, err := range c.Attacks(t.Context(), apiclient.AttackFilter{}) {
		require.NoError(t, err)
		require.Len(t, p.Attacks, 1)
		break // no further request
	}
	require.Len(t, s.requests(), 5)
}

func TestAnEmptyListIsAnEmptyPage(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.fault = body(200, `{"status":200,"body":[]}`)
	pages, err := drain(s.start().Attacks(t.Context(), apiclient.AttackFilter{}))
	require.NoError(t, err)
	require.Equal(t, []apiclient.AttackPage{{Attacks: []apiclient.Attack{}, Bytes: 2}}, pages)
}

func TestAServiceThatDisregardsTheOffsetIsNoticed(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.fault = body(200, `{"status":200,"body":[{"attackid":"x:1"},{"attackid":"x:2"}]}`)
	_, err := drain(s.start().Attacks(t.Context(), apiclient.AttackFilter{PageSize: 2}))
	require.ErrorContains(t, err, "again and again", "how much is missing is unknown")
	require.Len(t, s.requests(), 3)
}

func TestAShortListWhoseServiceDisregardsTheOffsetIsWhole(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.fault = body(200, `{"status":200,"body":[{"id":1}]}`)
	got, err := drain(s.start().Rules(t.Context(), 0))
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Len(t, s.requests(), 2)
}

func TestAnErrorInTheMiddleEndsTheList(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.cut = 2
	s.lists["/v1/objects/vuln"] = objects(t, `[{"id":1},{"id":2},{"id":3}]`)
	first := times(1, func(http.ResponseWriter, *http.Request) bool { return true })
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		return !first(nil, nil) && body(404, `"gone"`)(w, r)
	}
	got, err := drain(s.start().Vulnerabilities(t.Context(), false))
	require.Equal(t, apiclient.NotFound, apiclient.KindOf(err))
	require.Len(t, got, 2)
}

func TestListsComeInManyWrappings(t *testing.T) {
	t.Parallel()
	for wrapping, n := range map[string]int{
		`[{"id":7}]`:                                    1,
		`{"status":200,"body":[{"id":7}]}`:              1,
		`{"status":"200","body":[{"id":7}],"cursor":1}`: 1,
		`{"data":[{"id":7}]}`:                           1,
		`{"objects":[{"id":7}]}`:                        1,
		`{"body":{"objects":[{"id":7}]}}`:               1,
		`{"status":200,"body":{"data":[{"id":7}]}}`:     1,
		`{"status":200,"body":null}`:                    0,
		`{"status":200}`:                                0,
		`{"body":{"objects":null}}`:                     0,
		`null`:                                          -1,
		`[]`:                                            -1,
		`{}`:                                            -1,
		``:                                              -1,
		`{"status":200,"body":{"what":1}}`:              -1,
		`{"status":200,"body":"all is well"}`:           -1,
		`7`:                                             -1,
	} {
		t.Run(wrapping, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			first := times(max(1, -n*100), body(200, wrapping)) // what can't be right is asked for again
			s.fault = func(w http.ResponseWriter, r *http.Request) bool {
				return first(w, r) || body(200, `{"status":200,"body":[]}`)(w, r)
			}
			got, err := drain(s.start().Rules(t.Context(), 0))
			if n < 0 {
				require.Equal(t, apiclient.Server, apiclient.KindOf(err))
				return
			}
			require.NoError(t, err)
			require.Len(t, got, n)
		})
	}
}

func TestDeletingReadsTheBody(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]apiclient.ErrorKind{
		`{"status":200,"body":[{"id":7}]}`: 0, `[{"id":7}]`: 0, `{"status":200,"body":{"id":7}}`: 0, `{"status":200,"body":[7]}`: 0,
		`{"status":200,"body":[]}`: apiclient.NotFound, `{"status":200,"body":null}`: apiclient.NotFound, `{"status":200,"body":{}}`: apiclient.NotFound,
		`{"status":200}`: apiclient.NotFound, `null`: apiclient.Server, `[]`: apiclient.Server, `{}`: apiclient.Server, ``: apiclient.Server,
	} {
		s := newService(t)
		s.fault = body(200, text)
		err := s.start().DeleteRule(t.Context(), 7)
		require.Equal(t, want, apiclient.KindOf(err), text)
	}
}

func TestAnAdditionIsConfirmedByAny2xx(t *testing.T) {
	t.Parallel()
	for status, text := range map[int]string{200: `{"status":200,"body":{}}`, 201: `{"status":200,"body":[{"id":"8","subnet":"203.0.113.7"}]}`, 202: `{"id":8}`} {
		s := newService(t)
		s.fault = body(status, text)
		got, err := s.start().AddIPRule(t.Context(), denial(), false)
		require.NoError(t, err)
		require.Equal(t, netip.MustParsePrefix("203.0.113.7/32"), got.Subnet)
		require.Equal(t, until, got.Expires)
		if status == 201 || status == 202 {
			require.Equal(t, int64(8), got.ID)
		}
	}
	s := newService(t)
	s.fault = body(200, `{"status":200,"body":{}}`)
	_, err := s.start().CreateRule(t.Context(), patch())
	require.Equal(t, apiclient.Server, apiclient.KindOf(err)) // a rule without id could not be undone
	require.True(t, outcomeUnknown(t, err))
}
