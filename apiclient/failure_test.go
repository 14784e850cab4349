package apiclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

func asError(t *testing.T, err error) *apiclient.Error {
	t.Helper()
	var e *apiclient.Error
	require.ErrorAs(t, err, &e)
	return e
}

func outcomeUnknown(t *testing.T, err error) bool { return asError(t, err).OutcomeUnknown }

// failure is one way of the service to fail.
type failure struct {
	name        string
	fault       func(http.ResponseWriter, *http.Request) bool
	kind        apiclient.ErrorKind
	tries, once int // how often reads and changes are sent, and how often what is not repeated
	unknown     bool
}

// failures repeat the token in their texts, which must never come through.
func failures() []failure {
	echo := func(s string) string { return strings.ReplaceAll(s, "TOKEN", goodToken) }
	return []failure{
		{"400 fields", body(400, echo(`{"status":400,"body":{"TOKEN":{"error":"can't be TOKEN","value":null}}}`)), apiclient.Invalid, 1, 1, false},
		{"400 exists", body(400, echo(`{"status":400,"body":"Already exists TOKEN"}`)), apiclient.Exists, 1, 1, false},
		{"401", body(401, echo(`TOKEN`)), apiclient.Unauthenticated, 1, 1, false},
		{"403 token", body(403, echo(`{"status":403,"body":"User not authenticated TOKEN"}`)), apiclient.Unauthenticated, 1, 1, false},
		{"403 permission", body(403, echo(`{"status":403,"body":{"error":"Check permissions failed TOKEN"}}`)), apiclient.Forbidden, 1, 1, false},
		{"404", body(404, echo(`{"status":404,"body":["TOKEN"]}`)), apiclient.NotFound, 1, 1, false},
		{"409", body(409, echo(`{"status":409,"body":{}}`)), apiclient.Exists, 1, 1, false},
		{"422", body(422, echo(`{"error":"TOK\u0000EN"}`)), apiclient.Invalid, 1, 1, false},
		{"423", body(423, echo(`{"status":423,"body":"Rules updates have been locked TOKEN"}`)), apiclient.Locked, 4, 4, false},
		{"429", body(429, echo(`{"status":429,"body":"Rate limiting TOKEN"}`)), apiclient.RateLimited, 4, 4, false},
		{"500", body(500, echo(`{"status":500,"body":"Timed out TOKEN"}`)), apiclient.Server, 4, 1, true},
		{"502 page", body(502, echo(`<html><body>TOKEN</body></html>`)), apiclient.Server, 4, 1, true},
		{"200 page", body(200, echo(`<html><body>TOKEN</body></html>`)), apiclient.Server, 4, 1, true},
		{"200 null", body(200, `null`), apiclient.Server, 4, 1, true},
		{"200 an empty object", body(200, ` {}`), apiclient.Server, 4, 1, true},
		{"200 an empty list", body(200, `[]`), apiclient.Server, 4, 1, true},
		{"200 a word", body(200, `"ok"`), apiclient.Server, 4, 1, true},
		{"200 nothing", body(200, ``), apiclient.Server, 4, 1, true},
		{"204", body(204, ``), apiclient.Server, 4, 1, true},
		{"200 with inner 500", body(200, `{"status":500,"body":null}`), apiclient.Server, 4, 1, true},
		{"200 with inner 403", body(200, echo(`{"status":"403","body":"User not authenticated TOKEN"}`)), apiclient.Unauthenticated, 1, 1, false},
		{"cut JSON", body(200, `{"status":200,"body":[{"id":7,`), apiclient.Server, 4, 1, true},
		{"reset", reset, apiclient.Network, 4, 1, true},
		{"302", func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "/elsewhere?"+goodToken, http.StatusTemporaryRedirect)
			return true
		}, apiclient.Server, 1, 1, true},
	}
}

func TestEachCallFailsAsItShould(t *testing.T) {
	t.Parallel()
	for _, e := range endpoints() {
		for _, f := range failures() {
			t.Run(e.name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				s := newService(t)
				s.fault = f.fault
				c := s.start()
				err := e.call(t.Context(), c)
				require.Equal(t, f.kind, apiclient.KindOf(err), "%v", err)
				require.Equal(t, f.unknown && e.effect != "read", outcomeUnknown(t, err))
				want := f.tries
				if e.effect == "once" {
					want = f.once
				}
				require.Len(t, s.requests(), want)
				requireNoToken(t, err)
				requireNoToken(t, c)
			})
		}
	}
}

func requireNoToken(t *testing.T, v any) {
	t.Helper()
	encoded, _ := json.Marshal(v)
	seen := fmt.Sprintf("%v %+v %#v %s %q %s", v, v, v, v, v, encoded)
	for err, ok := v.(error); ok && err != nil; err = errors.Unwrap(err) {
		seen += fmt.Sprintf("%v %+v %#v", err, err, err)
	}
	require.NotContains(t, seen, goodToken)
}

func TestACallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, e := range endpoints() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			s := newService(t)
			s.fault = func(_ http.ResponseWriter, r *http.Request) bool {
				cancel() // the request has arrived and is never answered
				<-r.Context().Done()
				return true
			}
			err := e.call(ctx, s.start())
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, apiclient.Network, apiclient.KindOf(err))
			require.Equal(t, e.effect != "read", outcomeUnknown(t, err))
			require.Len(t, s.requests(), 1)
		})
	}
}

func TestAHungServiceIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.fault = func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	// Counted from where the request is sent, and not from its beginning: a busy machine may take long to connect.
	patience := &http.Transport{ResponseHeaderTimeout: 250 * time.Millisecond}
	c := s.start(func(cfg *apiclient.Config) { cfg.HTTP = &http.Client{Transport: patience}; cfg.Tries = 2 })
	arrive := func(n int) {
		require.Eventually(t, func() bool { return len(s.requests()) >= n }, time.Minute, time.Millisecond)
		require.Len(t, s.requests(), n)
	}
	_, err := c.CreateRule(t.Context(), patch())
	require.Equal(t, apiclient.Network, apiclient.KindOf(err))
	require.True(t, outcomeUnknown(t, err))
	arrive(1)
	_, err = c.AddIPRule(t.Context(), denial(), false)
	require.True(t, outcomeUnknown(t, err))
	arrive(2)
}

func TestUnsentCallsAreKnown(t *testing.T) {
	t.Parallel()
	c, err := apiclient.New(apiclient.Config{BaseURL: "http://127.0.0.1:1", Token: goodToken, ClientID: 5, Pause: time.Microsecond})
	require.NoError(t, err)
	_, err = c.CreateRule(t.Context(), patch())
	require.Equal(t, apiclient.Network, apiclient.KindOf(err))
	require.False(t, outcomeUnknown(t, err))
	requireNoToken(t, err)

	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.CreateRule(done, patch())
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, outcomeUnknown(t, err))
}

func TestATransportOfTheCallersMayHaveSent(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c := s.start(func(cfg *apiclient.Config) { cfg.HTTP = &http.Client{Transport: failing{}} })
	_, err := c.CreateRule(t.Context(), patch())
	require.True(t, outcomeUnknown(t, err))
	requireNoToken(t, err)
}

type failing struct{}

func (failing) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("lost %s", r.Header.Get("X-ServiceApi-Token"))
}

func TestADoubtStaysWhenALaterTryIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	first := times(1, reset)
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		return first(w, r) || body(403, `{"status":403,"body":"Check permissions failed"}`)(w, r)
	}
	err := s.start().DeleteRule(t.Context(), 7)
	require.Equal(t, apiclient.Forbidden, apiclient.KindOf(err))
	require.True(t, outcomeUnknown(t, err))

	s = newService(t)
	s.fault = times(1, reset)
	err = s.start().DeleteRule(t.Context(), 7)
	require.Equal(t, apiclient.NotFound, apiclient.KindOf(err))
	require.True(t, outcomeUnknown(t, err))
}

func TestTheServicesWordsAreKeptSafe(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.fault = body(400, `{"status":400,"body":{"subnet":{"error":"can't be\u001b[31m\n blank\u202e"},"list":["is bad","too"]}}`)
	_, err := s.start().AddIPRule(t.Context(), denial(), true)
	require.Equal(t, map[string]string{"subnet": "can't be[31m  blank", "list": "is bad; too"}, asError(t, err).Fields)
	require.EqualError(t, err, "add to IP list: invalid request (status 400): list is bad; too; subnet can't be[31m  blank")

	s.fault = body(400, `"`+strings.Repeat("ä", 1000)+`"`)
	_, err = s.start().AddIPRule(t.Context(), denial(), true)
	require.Len(t, []rune(asError(t, err).Message), 300)
}

func TestAnAnswerTooLongIsAnError(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.fault = func(w http.ResponseWriter, _ *http.Request) bool {
		chunk := []byte(strings.Repeat(" ", 1<<20))
		for range 33 {
			_, _ = w.Write(chunk)
		}
		return true
	}
	_, err := s.start(func(cfg *apiclient.Config) { cfg.Tries = 1 }).User(t.Context())
	require.Equal(t, apiclient.Server, apiclient.KindOf(err))
	require.ErrorContains(t, err, "longer than 8 MiB")
}
