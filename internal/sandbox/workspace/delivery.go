package workspace

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
	"strconv"
	"strings"
	"time"
)

const (
	commandsPath     = "/slack/commands"
	interactionsPath = "/slack/interactions"
	eventsPath       = "/slack/events"

	formType          = "application/x-www-form-urlencoded"
	verificationToken = "sandbox-verification" // the deprecated field that nobody should look at
)

// Delivery is a signed request to the bot and what became of it.
type Delivery struct {
	Path         string        `json:"path"`
	Headers      http.Header   `json:"headers"`       // as sent, the signature included
	EnvelopeBody string        `json:"envelope_body"` // as sent
	Status       int           `json:"status"`        // of the answer; 0: none came
	Body         string        `json:"body"`          // of the answer
	Took         time.Duration `json:"took_ns"`
	Err          string        `json:"err,omitempty"`
	Warning      string        `json:"warning,omitempty"` // what the person is shown: the bot was late, or its answer wasn't 200
	ResponseURL  string        `json:"response_url,omitempty"`
}

// Replay sends the same signed bytes again.
func (w *Workspace) Replay(ctx context.Context, d Delivery) (Delivery, error) {
	return w.send(ctx, d)
}

// Forge sends the same body again under a signature that another secret made.
func (w *Workspace) Forge(ctx context.Context, d Delivery) (Delivery, error) {
	d.Headers = d.Headers.Clone()
	signature := sign(w.cfg.SigningSecret+"-forged", d.Headers.Get("X-Slack-Request-Timestamp"), d.EnvelopeBody)
	d.Headers.Set("X-Slack-Signature", signature)
	return w.send(ctx, d)
}

// VerifyURL sends the url_verification event. An answer without the challenge is a Warning.
func (w *Workspace) VerifyURL(ctx context.Context) (Delivery, error) {
	challenge := randomID()
	body := marshal(map[string]string{"token": verificationToken, "challenge": challenge, "type": "url_verification"})
	d, err := w.send(ctx, w.signed(eventsPath, "application/json", string(body)))
	if err == nil && d.Warning == "" && !echoes(d.Body, challenge) {
		d.Warning = "the answer does not hold the challenge"
	}
	return d, err
}

// echoes tells whether an answer is the challenge, as text, form or JSON.
func echoes(body, challenge string) bool {
	var answered struct{ Challenge string }
	if json.Unmarshal([]byte(body), &answered) == nil {
		return answered.Challenge == challenge
	}
	return strings.TrimPrefix(strings.TrimSpace(body), "challenge=") == challenge
}

// signed prepares a request as Slack signs it.
func (w *Workspace) signed(path, contentType, body string) Delivery {
	timestamp := strconv.FormatInt(w.cfg.Now().Unix(), 10)
	h := http.Header{}
	h.Set("Content-Type", contentType)
	h.Set("User-Agent", "Slackbot 1.0 (+https://api.slack.com/robots)")
	h.Set("X-Slack-Request-Timestamp", timestamp)
	h.Set("X-Slack-Signature", sign(w.cfg.SigningSecret, timestamp, body))
	return Delivery{Path: path, Headers: h, EnvelopeBody: body}
}

func sign(secret, timestamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + timestamp + ":" + body))
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// deliver sends a click or command of that channel, unless a fault loses it or doubles it.
func (w *Workspace) deliver(ctx context.Context, d Delivery, channel string) (Delivery, error) {
	w.mu.Lock()
	lost := w.takeDeliveryFault(lostClick, channel)
	twice := w.takeDeliveryFault(duplicateDelivery, channel)
	w.mu.Unlock()
	if lost {
		d.Err, d.Warning = "delivery lost", "the app did not respond"
		return d, nil
	}
	sent, err := w.send(ctx, d)
	if err == nil && twice {
		_, err = w.send(ctx, d)
	}
	return sent, err
}

// send posts a request and notes what came back; errors are only those of this side.
func (w *Workspace) send(ctx context.Context, d Delivery) (Delivery, error) {
	w.mu.Lock()
	base := w.cfg.Deliver
	w.mu.Unlock()
	if base == "" {
		return d, errors.New("deliver to bot: no address is set, see Config.Deliver")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+d.Path, strings.NewReader(d.EnvelopeBody))
	if err != nil {
		return d, fmt.Errorf("deliver to bot: %w", err)
	}
	request.Header = d.Headers.Clone()
	d.Status, d.Body, d.Err, d.Warning = 0, "", "", ""
	start := time.Now()
	err = d.receive(w.cfg.HTTP.Do(request))
	d.Took = time.Since(start)
	switch {
	case ctx.Err() != nil:
		return d, fmt.Errorf("deliver to bot: %w", ctx.Err())
	case err != nil:
		d.Err, d.Warning = err.Error(), "the app did not respond"
	case d.Took > patience:
		d.Warning = "the app took longer than 3 seconds"
	case d.Status != http.StatusOK:
		d.Warning = fmt.Sprintf("the app answered %d", d.Status)
	}
	return d, nil
}

func (d *Delivery) receive(answer *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	d.Status, d.Body = answer.StatusCode, string(body)
	return err
}
