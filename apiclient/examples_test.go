package apiclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// examples is where the service's documented calls are, a file each. A new one needs no code.
const examples = "testdata/service"

// example is a documented call: the client must send its requests and read its answers, and the emulated service must
// take the requests and give the answers.
type example struct {
	Source    string                     `json:"source"` // where it is documented
	Call      map[string]json.RawMessage `json:"call"`   // the client's method and its arguments; none: only the emulated service is tried
	Exchanges []exchange                 `json:"exchanges"`
	Reads     json.RawMessage            `json:"reads"` // what the method gives; none: it gives an error
	Error     *exampleError              `json:"error"`
	Emulated  *emulated                  `json:"emulated"` // how the emulated service is tried; none: only the client is
}

type exchange struct {
	Request exampleRequest `json:"request"`
	Answer  exampleAnswer  `json:"answer"`
}

type exampleRequest struct {
	Method string            `json:"method"`
	Path   string            `json:"path"`
	Query  map[string]string `json:"query"`
	Body   json.RawMessage   `json:"body"`
	Token  *string           `json:"token"` // nil: the right one
}

type exampleAnswer struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
	Text    string            `json:"text"` // a body that isn't JSON
}

func (a exampleAnswer) content() string { return string(a.Body) + a.Text }

type exampleError struct {
	Kind       string            `json:"kind"`
	Status     int               `json:"status"`
	Message    string            `json:"message"`
	Fields     map[string]string `json:"fields"`
	RetryAfter string            `json:"retry_after"`
	Unknown    bool              `json:"outcome_unknown"`
}

type emulated struct {
	Before []step   `json:"before"` // what was done before
	Made   int      `json:"made"`   // stands for the id of what the last request before made, in ids of the requests
	Varies []string `json:"varies"` // fields that have other values of the same type
}

// step is one of a request, an attack that begins, and a fault.
type step struct {
	Request *exampleRequest `json:"request"`
	Attack  *waf.AttackSpec `json:"attack"`
	Fault   *waf.Fault      `json:"fault"`
}

func TestTheServicesExamples(t *testing.T) {
	t.Parallel()
	clients, services := 0, 0
	require.NoError(t, filepath.WalkDir(examples, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		e := readExample(t, file)
		name, _ := filepath.Rel(examples, file)
		if len(e.Call) > 0 {
			clients++
			t.Run("client/"+name, e.tryClient)
		}
		if e.Emulated != nil {
			services++
			t.Run("emulated/"+name, e.tryService)
		}
		return nil
	}))
	t.Logf("%d examples for the client, %d for the emulated service", clients, services)
}

// readExample takes no field that isn't known, nor a file that tries nothing.
func readExample(t *testing.T, file string) (e example) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&e), file)
	require.NotEmpty(t, e.Source, file)
	require.NotEmpty(t, e.Exchanges, file)
	require.True(t, len(e.Call) == 1 || len(e.Call) == 0 && e.Emulated != nil, "%s tries nothing, or several methods", file)
	require.Equal(t, len(e.Call) == 1, (e.Reads == nil) == (e.Error != nil), "%s: a call reads something, or fails", file)
	return e
}

// RoundTrip answers each request with the next answer, once it was found to be the one that is documented.
type script struct {
	t    *testing.T
	left []exchange
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	require.NotEmpty(s.t, s.left, "one request too many: %s %s", r.Method, r.URL)
	next := s.left[0]
	s.left = s.left[1:]
	next.Request.requireEqual(s.t, r)
	w := httptest.NewRecorder()
	for name, value := range next.Answer.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(next.Answer.Status)
	_, _ = w.WriteString(next.Answer.content())
	return w.Result(), nil
}

func (want exampleRequest) requireEqual(t *testing.T, r *http.Request) {
	require.Equal(t, want.Method+" "+want.Path, r.Method+" "+r.URL.Path)
	query := map[string]string{}
	for name, values := range r.URL.Query() {
		query[name] = strings.Join(values, " and ")
	}
	require.Equal(t, len(want.Query), len(query), "%v", query)
	for name, value := range want.Query {
		require.Equal(t, value, query[name], name)
	}
	require.Equal(t, "application/json", r.Header.Get("Accept"))
	require.Equal(t, goodToken, r.Header.Get("X-ServiceApi-Token"))
	if want.Body == nil {
		require.Nil(t, r.Body)
		require.Empty(t, r.Header.Get("Content-Type"))
		return
	}
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	var sent bytes.Buffer
	_, err := sent.ReadFrom(r.Body)
	require.NoError(t, err)
	require.JSONEq(t, string(want.Body), sent.String())
}

// tryClient calls the method, with as many tries as there are exchanges.
func (e example) tryClient(t *testing.T) {
	t.Parallel()
	s := &script{t, e.Exchanges}
	c, err := apiclient.New(apiclient.Config{
		BaseURL: "http://service.example.com", Token: goodToken, ClientID: 5, Tries: len(e.Exchanges), Pause: time.Microsecond, HTTP: &http.Client{Transport: s},
	})
	require.NoError(t, err)
	for method, args := range e.Call {
		call := clientCalls()[method]
		require.NotNil(t, call, "the client has no method %q", method)
		got, err := call(t.Context(), c, args)
		require.Empty(t, s.left, "a request was not sent")
		if e.Error != nil {
			require.Equal(t, *e.Error, readable(t, err))
			return
		}
		require.NoError(t, err)
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(e.Reads), string(text))
	}
}

// readable is an error as an example writes it.
func readable(t *testing.T, err error) exampleError {
	t.Helper()
	got := asError(t, err)
	e := exampleError{Kind: got.Kind.String(), Status: got.Status, Message: got.Message, Unknown: got.OutcomeUnknown}
	if len(got.Fields) > 0 {
		e.Fields = got.Fields
	}
	if got.RetryAfter > 0 {
		e.RetryAfter = got.RetryAfter.String()
	}
	return e
}

type clientCall func(ctx context.Context, c *apiclient.Client, args json.RawMessage) (any, error)

// clientCalls are the client's methods by the names that examples have for them.
func clientCalls() map[string]clientCall {
	return map[string]clientCall{
		"User": func(ctx context.Context, c *apiclient.Client, _ json.RawMessage) (any, error) { return c.User(ctx) },
		"Attacks": with(func(ctx context.Context, c *apiclient.Client, f apiclient.AttackFilter) (any, error) {
			pages, err := drain(c.Attacks(ctx, f))
			all := []apiclient.Attack{}
			for _, p := range pages {
				all = append(all, p.Attacks...)
			}
			return all, err
		}),
		"AttackDays": with(func(ctx context.Context, c *apiclient.Client, hours int) (any, error) {
			return c.AttackDays(ctx, hours)
		}),
		"Vulnerabilities": with(func(ctx context.Context, c *apiclient.Client, active bool) (any, error) {
			return drained(c.Vulnerabilities(ctx, active))
		}),
		"Rules": with(func(ctx context.Context, c *apiclient.Client, condition int64) (any, error) {
			return drained(c.Rules(ctx, condition))
		}),
		"ConditionSets": func(ctx context.Context, c *apiclient.Client, _ json.RawMessage) (any, error) {
			return drained(c.ConditionSets(ctx))
		},
		"CreateRule": with(func(ctx context.Context, c *apiclient.Client, r apiclient.Rule) (any, error) {
			return c.CreateRule(ctx, r)
		}),
		"DeleteRule": with(func(ctx context.Context, c *apiclient.Client, id int64) (any, error) {
			return nil, c.DeleteRule(ctx, id)
		}),
		"IPRules": with(func(ctx context.Context, c *apiclient.Client, list string) (any, error) {
			return drained(c.IPRules(ctx, list))
		}),
		"AddIPRule": with(func(ctx context.Context, c *apiclient.Client, r apiclient.IPRule) (any, error) {
			return c.AddIPRule(ctx, r, false)
		}),
		"ForceIPRule": with(func(ctx context.Context, c *apiclient.Client, r apiclient.IPRule) (any, error) {
			return c.AddIPRule(ctx, r, true)
		}),
		"DeleteIPRules": with(func(ctx context.Context, c *apiclient.Client, ids []int64) (any, error) {
			return nil, c.DeleteIPRules(ctx, ids...)
		}),
	}
}

// with reads a method's argument.
func with[T any](call func(ctx context.Context, c *apiclient.Client, arg T) (any, error)) clientCall {
	return func(ctx context.Context, c *apiclient.Client, args json.RawMessage) (any, error) {
		var arg T
		dec := json.NewDecoder(bytes.NewReader(args))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&arg); err != nil {
			return nil, fmt.Errorf("read the example's arguments: %w", err)
		}
		return call(ctx, c, arg)
	}
}

func drained[T any](seq iter.Seq2[T, error]) (any, error) {
	all, err := drain(seq)
	return append([]T{}, all...), err
}

// serviceNow is what time it is at the emulated service.
var serviceNow = time.Unix(1795000600, 0)

// tryService sends the requests to the emulated service.
func (e example) tryService(t *testing.T) {
	t.Parallel()
	s := waf.New(waf.Config{Seed: 1, Lag: -1, Now: func() time.Time { return serviceNow }, Accounts: []waf.Account{
		{Name: "acme", Token: goodToken, ClientID: 5, ClientName: "Acme", Applications: []waf.Application{{ID: 4, Name: "Shop", Host: "shop.example.com"}, {ID: 7, Name: "Legacy", Host: "legacy.example.com"}}},
		{Name: "globex", Token: "another-token", ClientID: 9},
	}})
	made := 0
	for _, before := range e.Emulated.Before {
		switch {
		case before.Attack != nil:
			_, err := s.StartAttack(*before.Attack)
			require.NoError(t, err)
		case before.Fault != nil:
			require.NoError(t, s.SetFault(*before.Fault))
		default:
			w := before.Request.send(t, s)
			require.Less(t, w.Code, 300, w.Body)
			var answer struct{ Body struct{ ID int } }
			_ = json.Unmarshal(w.Body.Bytes(), &answer) // a deletion's has none
			made = answer.Body.ID
		}
	}
	for _, x := range e.Exchanges {
		if e.Emulated.Made != 0 {
			x.Request.Body = withID(t, x.Request.Body, e.Emulated.Made, made)
		}
		w := x.Request.send(t, s)
		require.Equal(t, x.Answer.Status, w.Code, w.Body)
		for name, value := range x.Answer.Headers {
			require.Equal(t, value, w.Header().Get(name))
		}
		if x.Answer.Text != "" {
			require.Contains(t, w.Body.String(), x.Answer.Text)
			continue
		}
		requireLike(t, decoded(t, x.Answer.Body), decoded(t, w.Body.Bytes()), e.Emulated.Varies)
	}
}

// send sends a request as clients do.
func (want exampleRequest) send(t *testing.T, s *waf.Service) *httptest.ResponseRecorder {
	t.Helper()
	query := url.Values{}
	for name, value := range want.Query {
		query.Set(name, value)
	}
	r := httptest.NewRequest(want.Method, want.Path+"?"+query.Encode(), bytes.NewReader(want.Body))
	r.Header.Set("Accept", "application/json")
	r.Header.Set("X-ServiceApi-Token", goodToken)
	if want.Token != nil {
		r.Header.Set("X-ServiceApi-Token", *want.Token)
	}
	if want.Body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// withID is a request's body with one id in the place of another.
func withID(t *testing.T, body json.RawMessage, stands, id int) json.RawMessage {
	t.Helper()
	var replaced func(key string, v any) any
	replaced = func(key string, v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = replaced(k, v[k])
			}
		case []any:
			for i := range v {
				v[i] = replaced(key, v[i])
			}
		case float64:
			if key == "id" && v == float64(stands) {
				return id
			}
		}
		return v
	}
	text, err := json.Marshal(replaced("", decoded(t, body)))
	require.NoError(t, err)
	return text
}

func decoded(t *testing.T, text []byte) (v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(text, &v), string(text))
	return v
}

// requireLike holds that got has all that want has, field by field: of those that vary with values of the same type.
func requireLike(t *testing.T, want, got any, varies []string) {
	t.Helper()
	require.Equal(t, reflect.TypeOf(want), reflect.TypeOf(got), "%v instead of %v", got, want)
	switch want := want.(type) {
	case map[string]any:
		for key, value := range want {
			have, ok := got.(map[string]any)[key]
			require.True(t, ok, "%s is missing in %v", key, got)
			if slices.Contains(varies, key) {
				require.True(t, value == nil || reflect.TypeOf(value) == reflect.TypeOf(have), "%s is %v instead of %v", key, have, value)
				continue
			}
			requireLike(t, value, have, varies)
		}
	case []any:
		require.Len(t, got, len(want))
		for i := range want {
			requireLike(t, want[i], got.([]any)[i], varies)
		}
	default:
		require.Equal(t, want, got)
	}
}
