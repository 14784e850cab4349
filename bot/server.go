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

	"github.com/slack-go/slack"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/bot/slackconn"
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
		ErrorLog: slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelWarn),
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
	if s.cfg.Secret != "" {
		mux.HandleFunc("/slack/commands", s.signed(s.command))
		mux.HandleFunc("/slack/interactions", s.signed(s.interaction))
		mux.HandleFunc("/slack/events", s.signed(s.event))
	}
	if s.cfg.Pagers != nil {
		mux.HandleFunc("/pager/{name}", s.pager)
	}
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("/readyz", s.ready)
	mux.Handle("/metrics", s.cfg.Metrics.Serve(s.state))
	return mux
}

// signed checks a request before it is handled: first its method and headers, then its size, and then its signature.
// Only what has fresh and well-formed headers is read. A bad signature, or one over five minutes off: 401.
func (s *Server) signed(handle func(w http.ResponseWriter, r *http.Request, d delivery, body []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "use POST", http.StatusMethodNotAllowed)
			return
		}
		body, err := s.readSigned(w, r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		// A complete request is handled even if Slack closes the connection.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), acceptTimeout)
		defer cancel()
		// The signature is the delivery's name: it covers the time and the body.
		s.sent.Store(s.cfg.Clocks.Now().Unix())
		d := delivery{names: []string{signatureID(r.Header)}, at: s.cfg.Clocks.Now()}
		if delay.Try(s.cfg.Log, "a delivery", func() error { handle(w, r.WithContext(ctx), d, body); return nil }) != nil {
			http.Error(w, "failed", http.StatusInternalServerError)
		}
		s.cfg.Metrics.Acknowledged.Observe(time.Since(begun).Seconds())
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

// readSigned reads the body of a request with a good signature.
func (s *Server) readSigned(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	signature, err := s.signature(r.Header)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errForged, err)
	}
	body, err := s.read(w, r)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, []byte(s.cfg.Secret.Reveal()))
	_, _ = fmt.Fprintf(mac, "v0:%s:%s", r.Header.Get(headerTimestamp), body)
	if !hmac.Equal(signature, mac.Sum(nil)) {
		return nil, fmt.Errorf("%w: it is of another body, time or secret", errForged)
	}
	return body, nil
}

// signature reads a signature that is well formed and fresh.
func (s *Server) signature(header http.Header) ([]byte, error) {
	seconds, err := strconv.ParseInt(header.Get(headerTimestamp), 10, 64)
	if err != nil {
		return nil, errors.New("no time")
	}
	if off := s.cfg.Clocks.Now().Sub(time.Unix(seconds, 0)); off.Abs() > signatureFresh {
		return nil, fmt.Errorf("its time is off by %s", off.Round(time.Second))
	}
	text, of := strings.CutPrefix(header.Get(headerSignature), "v0=")
	signature, err := hex.DecodeString(text)
	if !of || err != nil || len(signature) != sha256.Size {
		return nil, errors.New("no signature of version v0")
	}
	return signature, nil
}

// refuse answers a request that isn't handled. As its connection closes, the rest of its body isn't read.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, words := http.StatusBadRequest, "body can't be read"
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.Is(err, errForged):
		s.cfg.Metrics.Forged.Inc()
		status, words = http.StatusUnauthorized, errForged.Error()
	case errors.As(err, &tooLarge):
		status, words = http.StatusRequestEntityTooLarge, "body is over 1 MiB"
	case errors.Is(err, errBodies):
		status, words = http.StatusServiceUnavailable, errBodies.Error()
	}
	s.log.warn(r.Context(), "refuse request: "+words, "path", r.URL.Path, "from", r.RemoteAddr, "err", err)
	http.Error(w, words, status)
}

// signatureID is the signature in canonical form, so that its spelling can't make one delivery look like two.
func signatureID(header http.Header) string {
	sig := header.Get(headerSignature)
	if len(sig) > 3 {
		if raw, err := hex.DecodeString(sig[3:]); err == nil {
			return hex.EncodeToString(raw)
		}
	}
	return sig
}

// command handles a slash command: form fields.
func (s *Server) command(_ http.ResponseWriter, r *http.Request, d delivery, body []byte) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		s.log.warn(r.Context(), "read command", "err", err)
		return
	}
	if form.Get("ssl_check") == "1" { // of Slack itself, which only wants the acknowledgement
		return
	}
	s.ingress.command(r.Context(), d, form.Get)
}

// interaction handles a click or a submission: JSON in the form field payload.
func (s *Server) interaction(w http.ResponseWriter, r *http.Request, d delivery, body []byte) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		s.log.warn(r.Context(), "read interaction", "err", err)
		return
	}
	answer := s.ingress.interaction(r.Context(), d, []byte(form.Get("payload")))
	if answer == nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // Slack may be gone
}

// event handles an event, and answers url_verification.
func (s *Server) event(w http.ResponseWriter, r *http.Request, d delivery, body []byte) {
	var check struct {
		Type      string `json:"type"`
		Challenge string `json:"challenge"`
	}
	if err := json.Unmarshal(body, &check); err == nil && check.Type == "url_verification" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = io.WriteString(w, check.Challenge)
		return
	}
	s.ingress.event(r.Context(), d, body)
}

// Envelope handles a delivery over Socket Mode.
func (in *ingress) Envelope(ctx context.Context, e slackconn.Envelope) *slack.ViewSubmissionResponse {
	ctx, cancel := context.WithTimeout(ctx, acceptTimeout)
	defer cancel()
	d := delivery{names: []string{"envelope " + e.ID}, at: in.cfg.Clocks.Now()}
	switch e.Type {
	case "slash_commands":
		var fields map[string]any
		if err := json.Unmarshal(e.Payload, &fields); err != nil {
			in.log.warn(ctx, "read command", "err", err)
			return nil
		}
		in.command(ctx, d, func(name string) string { text, _ := fields[name].(string); return text })
	case "interactive":
		return in.interaction(ctx, d, e.Payload)
	case "events_api":
		in.event(ctx, d, e.Payload)
	default:
		in.log.warn(ctx, "unknown envelope", "type", e.Type)
	}
	return nil
}
