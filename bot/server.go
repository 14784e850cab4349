package bot

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/slack-go/slack"
)

// maxBody is the largest request that is taken, in bytes.
const maxBody = 1 << 20

// delivery is a signed request of Slack's.
type delivery struct {
	id   string // the same bytes have the same
	body []byte
	at   time.Time
}

// signed checks what every request of Slack's must pass before anything of it is believed. Bad signature, or over five minutes off: 401.
func (b *Bot) signed(handle func(http.ResponseWriter, *http.Request, delivery)) http.HandlerFunc {
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
		if err := b.verify(r.Header, body); err != nil {
			b.metrics.forged.Inc()
			b.cfg.Log.Warn("refuse request", "path", r.URL.Path, "from", r.RemoteAddr, "err", err)
			http.Error(w, "bad signature", http.StatusUnauthorized)
			return
		}
		// The whole signature names the delivery: it covers the time and every byte of the body.
		handle(w, r, delivery{id: signatureID(r.Header), body: body, at: b.cfg.Now()})
		b.metrics.acknowledged.Observe(time.Since(begun).Seconds())
	}
}

const headerSignature = "X-Slack-Signature"

// verify checks the signature over the raw body and its time.
func (b *Bot) verify(header http.Header, body []byte) error {
	v, err := slack.NewSecretsVerifier(header, b.cfg.Secret.Reveal())
	if err != nil {
		return err
	}
	if _, err := v.Write(body); err != nil {
		return err
	}
	return v.Ensure()
}

// signatureID is the signature's bytes written in one way, so that its spelling can't make one delivery look like two.
func signatureID(header http.Header) string {
	sig := header.Get(headerSignature)
	if len(sig) > 3 {
		if raw, err := hex.DecodeString(sig[3:]); err == nil {
			return hex.EncodeToString(raw)
		}
	}
	return sig
}

// event answers the address check; other events are acknowledged.
func (b *Bot) event(w http.ResponseWriter, _ *http.Request, d delivery) {
	var e struct {
		Type      string `json:"type"`
		Challenge string `json:"challenge"`
	}
	if err := json.Unmarshal(d.body, &e); err != nil {
		b.cfg.Log.Warn("read event", "err", err)
		return
	}
	if e.Type == "url_verification" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = io.WriteString(w, e.Challenge)
	}
}
