package bot

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/slackconn"
)

// maxBody is the largest request that is taken, in bytes.
const maxBody = 1 << 20

// server receives over HTTP.
type server struct {
	cfg     *Config
	ingress *ingress
	metrics *metrics
}

// signed checks method, size and signature before a request is handled. A bad signature, or one over five minutes off: 401.
func (s *server) signed(handle func(w http.ResponseWriter, r *http.Request, d delivery, body []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "use POST", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			status := http.StatusBadRequest
			if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, "body can't be read", status)
			return
		}
		if err := s.verify(r.Header, body); err != nil {
			s.metrics.forged.Inc()
			s.cfg.Log.Warn("refuse request", "path", r.URL.Path, "from", r.RemoteAddr, "err", err)
			http.Error(w, "bad signature", http.StatusUnauthorized)
			return
		}
		// A complete request is handled even if Slack closes the connection.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), acceptTimeout)
		defer cancel()
		// The signature is the delivery's name: it covers the time and the body.
		handle(w, r.WithContext(ctx), delivery{names: []string{signatureID(r.Header)}, at: s.cfg.Now()}, body)
		s.metrics.acknowledged.Observe(time.Since(begun).Seconds())
	}
}

const headerSignature = "X-Slack-Signature"

// verify checks the signature of the raw body, and its time.
func (s *server) verify(header http.Header, body []byte) error {
	v, err := slack.NewSecretsVerifier(header, s.cfg.Secret.Reveal())
	if err != nil {
		return err
	}
	if _, err := v.Write(body); err != nil {
		return err
	}
	return v.Ensure()
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
		s.cfg.Log.Warn("read command", "err", err)
		return
	}
	s.ingress.command(r.Context(), d, form.Get)
}

// interaction handles a click or a submission: JSON in the form field payload.
func (s *server) interaction(w http.ResponseWriter, r *http.Request, d delivery, body []byte) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		s.cfg.Log.Warn("read interaction", "err", err)
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
	d := delivery{names: []string{"envelope " + e.ID}, at: in.cfg.Now()}
	switch e.Type {
	case "slash_commands":
		var fields map[string]any
		if err := json.Unmarshal(e.Payload, &fields); err != nil {
			in.cfg.Log.Warn("read command", "err", err)
			return nil
		}
		in.command(ctx, d, func(name string) string { text, _ := fields[name].(string); return text })
	case "interactive":
		return in.interaction(ctx, d, e.Payload)
	case "events_api":
		in.event(ctx, d, e.Payload)
	default:
		in.cfg.Log.Warn("unknown envelope", "type", e.Type)
	}
	return nil
}
