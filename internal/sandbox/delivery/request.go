package delivery

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	commandsPath     = "/slack/commands"
	interactionsPath = "/slack/interactions"
	eventsPath       = "/slack/events"

	formType = "application/x-www-form-urlencoded"
	jsonType = "application/json"
)

// Forge sends the same body again with a signature made from another secret. An envelope has no signature.
func (s *Sender) Forge(ctx context.Context, d Delivery) (Delivery, error) {
	if d.Via != HTTP {
		return d, errors.New("forge delivery: only a signed request can be forged, and this one went over a link")
	}
	d.Twin = nil
	d.Headers = d.Headers.Clone()
	signature := sign(s.cfg.SigningSecret+"-forged", d.Headers.Get("X-Slack-Request-Timestamp"), d.EnvelopeBody)
	d.Headers.Set("X-Slack-Signature", signature)
	return s.Replay(ctx, d)
}

// VerifyURL sends the url_verification event, as Slack does when the address is saved and when somebody presses Retry.
// An answer without the challenge is a Warning, and no events are sent there.
func (s *Sender) VerifyURL(ctx context.Context) (Delivery, error) {
	s.mu.Lock()
	asked := s.cfg.Deliver
	s.mu.Unlock()
	challenge := rand.Text()
	body := marshal(map[string]string{"token": VerificationToken, "challenge": challenge, "type": "url_verification"})
	d, err := s.Replay(ctx, s.packed(Delivery{Type: TypeEvent, Payload: body}, HTTP))
	if err == nil && d.Warning == "" && !echoes(d.Body, challenge) {
		d.Warning = "the answer does not hold the challenge"
	}
	if err == nil && d.Warning == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.verified = asked
		s.cfg.Changed()
	}
	return d, err
}

// EventWays lists how the next event goes. To an address that wasn't verified Slack sends none.
func (s *Sender) EventWays() []Ingress {
	ways := s.Ways()
	if s.Verified() {
		return ways
	}
	return slices.DeleteFunc(ways, func(way Ingress) bool { return way == HTTP })
}

// Verified reports whether the address of signed requests has answered a challenge.
func (s *Sender) Verified() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.verified == s.cfg.Deliver
}

// CheckSSL sends what Slack sends now and then to see that the address of the slash command has a valid certificate.
func (s *Sender) CheckSSL(ctx context.Context) (Delivery, error) {
	body := marshal(map[string]string{"token": VerificationToken, "ssl_check": "1"})
	return s.Replay(ctx, s.packed(Delivery{Type: TypeCommand, Payload: body}, HTTP))
}

// signed is a delivery as a request with the current time and signature.
func (s *Sender) signed(d Delivery) Delivery {
	var contentType string
	d.Path, contentType, d.EnvelopeBody = requestOf(d)
	timestamp := strconv.FormatInt(s.cfg.Now().Unix(), 10)
	d.Headers = http.Header{}
	d.Headers.Set("Content-Type", contentType)
	d.Headers.Set("User-Agent", "Slackbot 1.0 (+https://api.slack.com/robots)")
	d.Headers.Set("X-Slack-Request-Timestamp", timestamp)
	d.Headers.Set("X-Slack-Signature", sign(s.cfg.SigningSecret, timestamp, d.EnvelopeBody))
	return d
}

// requestOf is a delivery as an HTTP request.
func requestOf(d Delivery) (path, contentType, body string) {
	switch d.Type {
	case TypeInteractive:
		return interactionsPath, formType, url.Values{"payload": {string(d.Payload)}}.Encode()
	case TypeCommand:
		var fields map[string]string
		_ = json.Unmarshal(d.Payload, &fields) // the payload of a command has string fields only
		form := url.Values{}
		for key, value := range fields {
			form.Set(key, value)
		}
		return commandsPath, formType, form.Encode()
	}
	return eventsPath, jsonType, string(d.Payload)
}

func sign(secret, timestamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + timestamp + ":" + body))
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// sendRequest posts a signed request and records the answer.
func (s *Sender) sendRequest(ctx context.Context, d Delivery) (Delivery, error) {
	s.mu.Lock()
	base := s.cfg.Deliver
	s.mu.Unlock()
	if base == "" {
		return d, errors.New("deliver to bot: no address is set, see Config.Deliver")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+d.Path, strings.NewReader(d.EnvelopeBody))
	if err != nil {
		return d, fmt.Errorf("deliver to bot: %w", err)
	}
	request.Header = d.Headers.Clone()
	start := time.Now()
	err = d.receive(s.cfg.Client.Do(request))
	d.Took = time.Since(start)
	if ctx.Err() != nil {
		return d, fmt.Errorf("deliver to bot: %w", ctx.Err())
	}
	d.judge(err, s.cfg.Patience)
	return d, nil
}

func (d *Delivery) receive(answer *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	d.Status, d.Body, d.noRetry = answer.StatusCode, string(body), answer.Header.Get("X-Slack-No-Retry") == "1"
	return err
}

// judge sets whether a request was acknowledged: an event by any 2xx, the rest by 200.
func (d *Delivery) judge(err error, patience time.Duration) {
	failed := net.Error(nil)
	good := d.Status == http.StatusOK || d.Type == TypeEvent && d.Status/100 == 2
	switch {
	case errors.As(err, &failed) && failed.Timeout():
		d.Err, d.Warning, d.reason = err.Error(), NoResponse, "http_timeout"
	case err != nil:
		d.Err, d.Warning, d.reason = err.Error(), NoResponse, "connection_failed"
	case d.Took > patience:
		d.Warning, d.reason = fmt.Sprintf("the app took longer than %g seconds", patience.Seconds()), "http_timeout"
	case !good:
		d.Warning, d.reason = fmt.Sprintf("the app answered %d", d.Status), "http_error"
	default:
		d.Acked = true
	}
}
