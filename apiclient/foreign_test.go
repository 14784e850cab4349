package apiclient_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

// What the service answers of another client is no fact of the account's. A record that names none is the account's
// own.
func TestARecordOfAnotherClient(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path string
		read func(c *apiclient.Client) (int, error)
	}{
		"entries": {"/v4/ip_rules", func(c *apiclient.Client) (int, error) {
			all, err := drain(c.IPRules(t.Context(), ""))
			return len(all), err
		}},
		"rules": {"/v1/objects/hint", func(c *apiclient.Client) (int, error) {
			all, err := drain(c.Rules(t.Context(), 0))
			return len(all), err
		}},
		"conditions": {"/v1/objects/action", func(c *apiclient.Client) (int, error) {
			all, err := drain(c.ConditionSets(t.Context()))
			return len(all), err
		}},
		"vulnerabilities": {"/v1/objects/vuln", func(c *apiclient.Client) (int, error) {
			all, err := drain(c.Vulnerabilities(t.Context(), false))
			return len(all), err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			c := s.start()
			s.lists[tt.path] = objects(t, `[{"id":1},{"id":2,"clientid":5},{"id":3,"client_id":"5"}]`)
			n, err := tt.read(c)
			require.NoError(t, err)
			require.Equal(t, 3, n)
			for _, record := range []string{`{"id":4,"clientid":6}`, `{"id":4,"client_id":6}`} {
				s.lists[tt.path] = objects(t, `[{"id":1,"clientid":5},`+record+`]`)
				before := c.Foreign()
				n, err = tt.read(c)
				require.Equal(t, apiclient.Foreign, apiclient.KindOf(err))
				require.Equal(t, 1, n)
				require.Equal(t, before+1, c.Foreign())
			}
		})
	}
}

func TestAttacksOfAnotherClientAreLeftOut(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.cut = 2
	s.lists["/v1/objects/attack"] = objects(t, `[{"attackid":"a","clientid":5},{"attackid":"b","clientid":6},{"attackid":"c"},{"attackid":"d","clientid":5}]`)
	c := s.start()
	var ids []string
	var failed error
	for p, err := range c.Attacks(t.Context(), apiclient.AttackFilter{}) {
		if err != nil {
			failed = err
		}
		for _, a := range p.Attacks {
			ids = append(ids, a.ID)
		}
	}
	require.Equal(t, []string{"a", "c", "d"}, ids)
	require.Equal(t, apiclient.Foreign, apiclient.KindOf(failed))
	require.EqualValues(t, 1, c.Foreign())
}

// A change whose answer names another client may have been made.
func TestAChangeAnsweredForAnotherClient(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.fault = body(200, `{"status":200,"body":{"id":8,"clientid":6,"subnet":"203.0.113.7"}}`)
	c := s.start()
	_, err := c.AddIPRule(t.Context(), denial(), false)
	require.Equal(t, apiclient.Foreign, apiclient.KindOf(err))
	require.True(t, outcomeUnknown(t, err))
	made, err := c.CreateRule(t.Context(), patch())
	require.True(t, outcomeUnknown(t, err))
	require.Zero(t, made.ID)
	s.fault = body(200, `{"status":200,"body":[{"id":7,"clientid":6}]}`)
	require.True(t, outcomeUnknown(t, c.DeleteRule(t.Context(), 7)))
	require.EqualValues(t, 3, c.Foreign())
}

// A client id that was asked for may come of another's answer, too: what it is refused for has it asked for again.
func TestAForeignClientIDIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := newService(t)
	first := times(1, body(200, `{"status":200,"body":{"client_id":6}}`))
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if sent := s.requests(); r.URL.Path != "/v1/user" && strings.Contains(sent[len(sent)-1].Body, `"clientid":[6]`) {
			return body(403, `{"status":403,"body":"Check permissions failed"}`)(w, r)
		}
		return r.URL.Path == "/v1/user" && first(w, r)
	}
	c := s.start(func(cfg *apiclient.Config) { cfg.ClientID = 0 })
	_, err := drain(c.Rules(t.Context(), 0))
	require.Equal(t, apiclient.Forbidden, apiclient.KindOf(err))
	_, err = drain(c.Rules(t.Context(), 0))
	require.NoError(t, err)
}
