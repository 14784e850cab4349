// Package webhook sends signed messages over HTTP, by the rules of Standard Webhooks.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Message is one message. A repeat has the same id.
type Message struct {
	ID          string // without dots
	At          time.Time
	ContentType string
	Body        []byte
}

// Webhook is one receiver.
type Webhook struct {
	address apiclient.Secret
	key     []byte
	http    *http.Client
}

// How a secret is written, and how long its key is, in bytes, by Standard Webhooks.
const (
	secretPrefix = "whsec_"
	keyLeast     = 24
	keyMost      = 64
)

// timeout bounds one call, which is at least what Standard Webhooks has senders wait.
const timeout = 15 * time.Second

// maxAnswer is how much of an answer is read, in bytes, so that its connection can be used again. Nothing goes by what it says.
const maxAnswer = 4 << 10

// New makes a Webhook. Nothing is sent yet. Its errors hold neither the address nor the secret.
func New(address, secret apiclient.Secret) (*Webhook, error) {
	key, err := readKey(secret)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address.Reveal())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the value is no web address; write it like https://HOST/")
	}
	client := apiclient.NewHTTP()
	client.Timeout = timeout
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // a message goes where it was meant to go, and nowhere else
	return &Webhook{address: address, key: key, http: client}, nil
}

// CheckSecret says what is wrong with a secret, without showing it.
func CheckSecret(secret apiclient.Secret) error {
	_, err := readKey(secret)
	return err
}

func readKey(secret apiclient.Secret) ([]byte, error) {
	text, ok := strings.CutPrefix(secret.Reveal(), secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < keyLeast || len(key) > keyMost {
		return nil, fmt.Errorf(`is no secret of Standard Webhooks: %s and %d to %d random bytes in base64; make one with: echo "%s$(openssl rand -base64 32)"`, secretPrefix, keyLeast, keyMost, secretPrefix)
	}
	return key, nil
}

// Send sends a message. Without an error the receiver has it. Every error is a *Failure, or the context's.
func (w *Webhook) Send(ctx context.Context, m Message) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.address.Reveal(), bytes.NewReader(m.Body))
	if err != nil {
		return &Failure{Text: "its address is none"} // New has seen that it is one
	}
	seconds := strconv.FormatInt(m.At.Unix(), 10)
	req.Header.Set("Content-Type", m.ContentType)
	req.Header.Set("User-Agent", "wafbot")
	req.Header.Set("Webhook-Id", m.ID)
	req.Header.Set("Webhook-Timestamp", seconds)
	req.Header.Set("Webhook-Signature", w.signature(m.ID, seconds, m.Body))
	res, err := w.http.Do(req)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return &Failure{Text: "it can't be reached", Err: apiclient.WithoutURL(err)}
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
	return failure(res)
}

// signature is that of Standard Webhooks, version 1.
func (w *Webhook) signature(id, seconds string, body []byte) string {
	mac := hmac.New(sha256.New, w.key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, seconds, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
