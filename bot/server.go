package bot

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/delay"
)

// Times of a request over HTTP.
const (
	requestWithin  = 3 * time.Second  // it is read to its end: Slack waits no longer for the acknowledgement
	responseWithin = 10 * time.Second // it is answered
	stopWithin     = 3 * time.Second  // requests under way, when serving ends
)

// What strangers can have wafbot hold, in bytes: each connection costs about 40 kB with the largest headers. Together
// the bodies hold at most maxLarge times maxBody, and maxConnections times freeBody beyond it, 48 MiB: the beginning of
// a body, which is all of what Slack usually sends, needs no room, so that large ones can't keep it out.
const (
	maxConnections = 1024
	maxHeaders     = 16 << 10 // Slack's have 1 kB
	maxBody        = 1 << 20
	freeBody       = 16 << 10
	maxLarge       = 32 // bodies over freeBody at once
)

// Serve receives over HTTP until the context ends. Where there are too many connections, new ones wait. A stranger
// holds one for three seconds at most, or until it is answered: whoever stalls keeps Slack and the probes out for no
// longer.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s.handler(), MaxHeaderBytes: maxHeaders,
		ReadTimeout: requestWithin, WriteTimeout: responseWithin,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
	server.SetKeepAlivesEnabled(false) // a request on an idle connection that a stop closes would be lost
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		// A listener that is shared is closed by whoever stops first.
		err := server.Serve(netutil.LimitListener(l, maxConnections))
		if !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		return server.Shutdown(stop)
	})
	return g.Wait()
}

// handler serves Slack's requests, pagers, health and metrics.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	if s.Secret != "" {
		mux.HandleFunc("POST /slack/commands", s.signed(kindCommand))
		mux.HandleFunc("POST /slack/interactions", s.signed(kindInteraction))
		mux.HandleFunc("POST /slack/events", s.signed(kindEvent))
	}
	if s.PagerSecret != nil {
		mux.HandleFunc("POST /pager/{name}", s.pager)
	}
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("/readyz", s.ready)
	mux.Handle("/metrics", s.Metrics.Serve(s.state))
	return mux
}

// signed handles a request with a good signature: of another secret or body, or over five minutes off, it is refused
// with 401.
func (s *Server) signed(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		stamp := r.Header.Get(headerTimestamp)
		seconds, err := strconv.ParseInt(stamp, 10, 64)
		if off := s.Clocks.Now().Sub(time.Unix(seconds, 0)); err == nil && off.Abs() > signatureFresh {
			err = fmt.Errorf("its time is off by %s", off.Round(time.Second))
		}
		if err != nil {
			s.refuse(w, r, fmt.Errorf("%w: %w", errForged, err))
			return
		}
		body, signature := s.authentic(w, r, seal{s.Secret, "v0=", r.Header.Get(headerSignature), 1, "v0:" + stamp + ":"})
		if signature == nil {
			return
		}
		now := s.Clocks.Now()
		s.sent.Store(now.Unix())
		// A complete request is handled even if Slack closes the connection. The signature is the delivery's name: it covers
		// the time and the body.
		ctx, d := context.WithoutCancel(r.Context()), delivery{[]string{hex.EncodeToString(signature)}, now}
		if !delay.Run(s.Log, "a delivery", func() { s.answerHTTP(ctx, w, kind, d, body) }) {
			http.Error(w, "failed", http.StatusInternalServerError)
		}
		s.Metrics.Acknowledged.Observe(time.Since(begun).Seconds())
	}
}

// answerHTTP handles a delivery over HTTP. Its body is JSON for events, form fields for commands, and JSON in the form
// field payload for interactions.
func (s *Server) answerHTTP(ctx context.Context, w http.ResponseWriter, kind string, d delivery, body []byte) {
	var check struct{ Type, Challenge string }
	if kind != kindEvent {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			s.log.warn(ctx, "read form", "kind", kind, "err", err)
			return
		}
		if body = []byte(form.Get("payload")); kind == kindCommand {
			fields := map[string]string{}
			for name := range form {
				fields[name] = form.Get(name)
			}
			body, _ = json.Marshal(fields) // strings can't fail
		}
	} else if err := json.Unmarshal(body, &check); err == nil && check.Type == "url_verification" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = io.WriteString(w, check.Challenge)
		return
	}
	if kind == kindEvent {
		s.events.Store(true)
	}
	if answer := s.handle(ctx, kind, d, body); answer != nil {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // Slack may be gone
	}
}

// The headers of a signature, and how far its time may be off.
const (
	headerSignature = "X-Slack-Signature"
	headerTimestamp = "X-Slack-Request-Timestamp"
	signatureFresh  = 5 * time.Minute
)

var (
	errForged = errors.New("bad signature")
	errBodies = errors.New("too many large bodies at once")
)

// seal is how a request is signed: in a header, with the SHA-256 HMAC of a prefix and the body.
type seal struct {
	secret  apiclient.Secret
	version string // begins a signature
	written string // the header: signatures, separated by commas
	most    int    // of them
	prefix  string
}

// authentic reads the body of a request, and which signature of it is good; nil: it was refused. Only what has
// well-formed headers is read.
func (s *Server) authentic(w http.ResponseWriter, r *http.Request, by seal) (body, signature []byte) {
	var signatures [][]byte
	for _, one := range strings.SplitN(by.written, ",", by.most) {
		digits, of := strings.CutPrefix(strings.TrimSpace(one), by.version)
		if sum, err := hex.DecodeString(digits); of && err == nil && len(sum) == sha256.Size {
			signatures = append(signatures, sum)
		}
	}
	err := fmt.Errorf("%w: none begins with %s", errForged, by.version)
	if signatures != nil {
		body, err = s.read(w, r)
	}
	if err != nil {
		s.refuse(w, r, err)
		return nil, nil
	}
	mac := hmac.New(sha256.New, []byte(by.secret.Reveal()))
	_, _ = mac.Write(append([]byte(by.prefix), body...))
	for _, one := range signatures {
		if hmac.Equal(one, mac.Sum(nil)) {
			return body, one
		}
	}
	s.refuse(w, r, fmt.Errorf("%w: it is of another body, time or secret", errForged))
	return nil, nil
}

// read reads a request's body as far as there is room.
func (s *Server) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, &http.MaxBytesError{Limit: maxBody}
	}
	body := http.MaxBytesReader(w, r.Body, maxBody)
	begins, err := io.ReadAll(io.LimitReader(body, freeBody))
	if err != nil || len(begins) < freeBody {
		return begins, err
	}
	select {
	case s.large <- struct{}{}:
		defer func() { <-s.large }()
	default:
		return nil, errBodies
	}
	rest, err := io.ReadAll(body)
	return append(begins, rest...), err
}

// refuse answers a request that isn't handled. As its connection closes, the rest of its body isn't read.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, words := http.StatusBadRequest, "body can't be read"
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.Is(err, errForged):
		s.Metrics.Forged.Inc()
		status, words = http.StatusUnauthorized, errForged.Error()
	case errors.As(err, &tooLarge):
		status, words = http.StatusRequestEntityTooLarge, "body is over 1 MiB"
	case errors.Is(err, errBodies):
		status, words = http.StatusServiceUnavailable, errBodies.Error()
	}
	s.log.warn(r.Context(), "refuse request: "+words, "path", r.URL.Path, "from", r.RemoteAddr, "err", err)
	http.Error(w, words, status)
}

// foreign reports whether a delivery is of another Slack app than the one whose bot token wafbot has. That happens
// where its signing secret or app token is of another app: then wafbot can't know what else it doesn't see. While the
// token's app isn't known no delivery is.
func (in *ingress) foreign(ctx context.Context, app string) bool {
	ours := in.Slack.App()
	if ours == "" || app == "" || app == ours {
		return false
	}
	in.log.warn(ctx, "refuse delivery of another app", "app", app, "bot_token_of", ours, "fix",
		"take bot token, app token and signing secret from one app's page at https://api.slack.com/apps")
	return true
}

// ofAnotherApp says why a delivery is refused.
func ofAnotherApp() card.Message {
	return say("Not done: this was sent by another Slack app than the one whose bot token wafbot has. Its tokens and signing secret must be of one app")
}
