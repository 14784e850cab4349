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
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/metrics"
)

// receiver reads requests over HTTP that may be anybody's.
type receiver struct {
	log     *sampledLog
	metrics *metrics.Metrics
	bodies  *bodies // of all receivers
}

// counting is the same that counts elsewhere.
func (s receiver) counting(m *metrics.Metrics) receiver {
	s.metrics = m
	return s
}

// server receives a workspace's requests over HTTP.
type server struct {
	receiver

	cfg     *Config
	ingress *ingress
}

// signed checks a request before it is handled: first its method and headers, then its size, and then its signature. Only what has fresh and well-formed headers
// is read. A bad signature, or one over five minutes off: 401.
func (s *server) signed(handle func(w http.ResponseWriter, r *http.Request, d delivery, body []byte)) http.HandlerFunc {
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
		handle(w, r.WithContext(ctx), delivery{names: []string{signatureID(r.Header)}, at: s.cfg.Clocks.Now()}, body)
		s.metrics.Acknowledged.Observe(time.Since(begun).Seconds())
	}
}

// The headers of a signature, and how far its time may be off.
const (
	headerSignature = "X-Slack-Signature"
	headerTimestamp = "X-Slack-Request-Timestamp"
	signatureFresh  = 5 * time.Minute
)

var errForged = errors.New("bad signature")

// readSigned reads the body of a request with a good signature.
func (s *server) readSigned(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	signature, err := s.signature(r.Header)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errForged, err)
	}
	body, err := s.bodies.read(w, r)
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
func (s *server) signature(header http.Header) ([]byte, error) {
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

// refuse answers a request that isn't handled, and closes its connection, so that the rest of its body isn't read.
func (s receiver) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, words := http.StatusBadRequest, "body can't be read"
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.Is(err, errForged):
		s.metrics.Forged.Inc()
		status, words = http.StatusUnauthorized, errForged.Error()
	case errors.As(err, &tooLarge):
		status, words = http.StatusRequestEntityTooLarge, "body is over 1 MiB"
	case errors.Is(err, errBodies):
		status, words = http.StatusServiceUnavailable, errBodies.Error()
	}
	s.log.warn(r.Context(), "refuse request: "+words, "path", r.URL.Path, "from", r.RemoteAddr, "err", err)
	w.Header().Set("Connection", "close")
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
func (s *server) command(_ http.ResponseWriter, r *http.Request, d delivery, body []byte) {
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
func (s *server) interaction(w http.ResponseWriter, r *http.Request, d delivery, body []byte) {
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
func (s *server) event(w http.ResponseWriter, r *http.Request, d delivery, body []byte) {
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
