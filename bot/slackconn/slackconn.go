// Package slackconn is the wire to Slack: its client, Socket Mode links, rate limits and message history.
package slackconn

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
)

// DialFailed reports whether no connection was made, so that the other side received nothing.
func DialFailed(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// Config is what a Client works with.
type Config struct {
	Token    apiclient.Secret // the bot's
	AppToken apiclient.Secret // opens Socket Mode links; "": none are opened
	APIURL   string           // ends with a slash; "": Slack's own
	HTTP     *http.Client     // nil: one with a timeout of 10 s; slack-go's own has none
	People   People           // nil: there is only one replica
	Log      *slog.Logger     // nil: discarded
}

// Client is the connection to one workspace.
type Client struct {
	api   *slack.Client
	http  *http.Client
	holds *holds
	token apiclient.Secret
	url   string // of the Web API, ends with a slash
	links bool   // there is an app token

	people People
	log    *slog.Logger
	groups groups

	mu      sync.Mutex
	self    *Identity
	members map[string]member

	trying  sync.Mutex
	tried   time.Time
	refused error // result at that time
}

// Identity is the owner of the token.
type Identity struct {
	Team, User, Bot string
	url             string // of the workspace, ends with a slash
}

// Timeout bounds a call of Slack. A call that was sent longer ago can't take effect any more.
const Timeout = 10 * time.Second

// Connect makes a Client. It sends nothing.
func Connect(cfg Config) *Client {
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{Timeout: Timeout}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	address := cmp.Or(cfg.APIURL, slack.APIURL)
	way := *cfg.HTTP
	holds := newHolds(way.Transport, address)
	way.Transport = holds
	return &Client{
		api:     slack.New(cfg.Token.Reveal(), slack.OptionAppLevelToken(cfg.AppToken.Reveal()), slack.OptionHTTPClient(&way), slack.OptionAPIURL(address)),
		http:    &way,
		holds:   holds,
		token:   cfg.Token,
		url:     address,
		links:   cfg.AppToken != "",
		people:  cfg.People,
		log:     cfg.Log,
		members: map[string]member{},
	}
}

// Self is the token's owner. Slack is asked once.
func (s *Client) Self(ctx context.Context) (Identity, error) {
	s.mu.Lock()
	known := s.self
	s.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	return s.authTest(ctx)
}

// authTest asks Slack for the token's owner (auth.test).
func (s *Client) authTest(ctx context.Context) (Identity, error) {
	res, err := s.api.AuthTestContext(ctx)
	if err != nil {
		return Identity{}, fmt.Errorf("ask slack who wafbot is: %w", WithoutURL(err))
	}
	self := Identity{Team: res.TeamID, User: res.UserID, Bot: res.BotID, url: res.URL}
	s.mu.Lock()
	s.self = &self
	s.mu.Unlock()
	return self, nil
}

// Permalink is where a message can be opened.
func (s *Client) Permalink(ctx context.Context, channel, ts string) (string, error) {
	self, err := s.Self(ctx)
	if err != nil {
		return "", err
	}
	return self.url + "archives/" + channel + "/p" + strings.ReplaceAll(ts, ".", ""), nil
}

// usableFor is how long the result of Usable is cached: /readyz is open to everyone.
const usableFor = 10 * time.Second

// Usable checks the token with Slack (auth.test). It may have been revoked since its first use.
func (s *Client) Usable(ctx context.Context) error {
	s.trying.Lock()
	defer s.trying.Unlock()
	if time.Since(s.tried) >= usableFor {
		_, s.refused = s.authTest(ctx)
		s.tried = time.Now()
	}
	return s.refused
}

// maxAnswer bounds what is read of a response URL's answer, in bytes.
const maxAnswer = 1 << 20

// Respond posts to a request's response URL. An error in the body fails too, also with status 200, which slack-go would take for success.
func (s *Client) Respond(ctx context.Context, address string, msg *slack.WebhookMessage) error {
	body, err := json.Marshal(msg)
	if err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("use response address: %w", WithoutURL(err))
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := s.http.Do(req)
	if err != nil {
		return fmt.Errorf("use response address: %w", WithoutURL(err))
	}
	defer res.Body.Close()
	var refused slack.SlackResponse // success is a bare "ok"
	_ = json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&refused)
	if res.StatusCode/100 != 2 || refused.Error != "" {
		return fmt.Errorf("use response address: status %d %s", res.StatusCode, refused.Error)
	}
	return nil
}

// Ephemeral shows a message in a channel, or in a thread there, to one user only (chat.postEphemeral).
func (s *Client) Ephemeral(ctx context.Context, at Place, user string, options ...slack.MsgOption) error {
	if at.Thread != "" {
		options = append(options, slack.MsgOptionTS(at.Thread))
	}
	if _, err := s.api.PostEphemeralContext(ctx, at.Channel, user, options...); err != nil {
		return fmt.Errorf("show %s a message: %w", user, WithoutURL(err))
	}
	return nil
}

// Place is a channel, or a thread in one.
type Place struct {
	Channel string
	Thread  string // "": none
}

// Post posts a message (chat.postMessage).
func (s *Client) Post(ctx context.Context, channel string, options ...slack.MsgOption) (postedIn, ts string, err error) {
	postedIn, ts, err = s.api.PostMessageContext(ctx, channel, options...)
	if err != nil {
		return "", "", fmt.Errorf("post to %s: %w", channel, WithoutURL(err))
	}
	return postedIn, ts, nil
}

// Update replaces a message (chat.update).
func (s *Client) Update(ctx context.Context, channel, ts string, options ...slack.MsgOption) error {
	_, _, _, err := s.api.UpdateMessageContext(ctx, channel, ts, options...)
	return WithoutURL(err)
}

// Delete deletes one of wafbot's own messages (chat.delete).
func (s *Client) Delete(ctx context.Context, channel, ts string) error {
	_, _, err := s.api.DeleteMessageContext(ctx, channel, ts)
	return WithoutURL(err)
}

// OpenView opens a modal with a trigger, which is valid for three seconds (views.open).
func (s *Client) OpenView(ctx context.Context, trigger string, v slack.ModalViewRequest) (id string, err error) {
	opened, err := s.api.OpenViewContext(ctx, trigger, v)
	if err != nil {
		return "", WithoutURL(err)
	}
	return opened.ID, nil
}

// UpdateView replaces a modal (views.update).
func (s *Client) UpdateView(ctx context.Context, id string, v slack.ModalViewRequest) error {
	_, err := s.api.UpdateViewContext(ctx, v, "", "", id)
	return WithoutURL(err)
}

// PublishHome publishes a user's Home tab (views.publish).
func (s *Client) PublishHome(ctx context.Context, user string, v slack.HomeTabViewRequest) error {
	if _, err := s.api.PublishViewContext(ctx, slack.PublishViewContextRequest{UserID: user, View: v}); err != nil {
		return fmt.Errorf("publish home tab of %s: %w", user, WithoutURL(err))
	}
	return nil
}

// WithoutURL removes the URL from an error of net/http: a response URL gives access to the channel for half an hour.
func WithoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return fmt.Errorf("%s: %w", strings.ToLower(u.Op), u.Err)
	}
	return err
}

// Detailed adds Slack's explanation of why it refuses a view or message.
func Detailed(err error) error {
	var res slack.SlackErrorResponse
	if errors.As(err, &res) && len(res.ResponseMetadata.Messages) > 0 {
		return fmt.Errorf("%w: %s", WithoutURL(err), strings.Join(res.ResponseMetadata.Messages, "; "))
	}
	return WithoutURL(err)
}

// ErrorName is Slack's name for an error; "" if it has none.
func ErrorName(err error) string {
	var res slack.SlackErrorResponse
	if errors.As(err, &res) {
		return res.Err
	}
	return ""
}

// Outcome is what an error of Slack means for a message.
type Outcome int

const (
	NotSent         Outcome = iota // not posted, for a transient reason: try later
	Doubtful                       // may have been posted: verify before a resend
	ContentRefused                 // Slack refuses its content: send plain text
	MetadataRefused                // Slack refuses its metadata: carry less
	ChannelClosed                  // the channel can't be posted to
	Forbidden                      // the token may not do it
)

// Judge classifies an error of a call that posts or edits, and returns how long to wait. A 429 does not prove that nothing was posted.
func Judge(err error) (v Outcome, wait time.Duration) {
	if held := (*heldError)(nil); errors.As(err, &held) {
		return NotSent, held.limited.RetryAfter
	}
	var limited *slack.RateLimitedError
	if errors.As(err, &limited) {
		return Doubtful, limited.RetryAfter
	}
	var status slack.StatusCodeError
	if errors.As(err, &status) {
		return Doubtful, time.Second
	}
	switch name := ErrorName(err); name {
	case "ratelimited", "rate_limited", "fatal_error", "internal_error", "request_timeout":
		return Doubtful, time.Second
	case "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "too_many_attachments", "attachment_payload_limit_exceeded",
		"invalid_arguments", "no_text":
		return ContentRefused, 0
	case "metadata_too_large", "invalid_metadata_format", "invalid_metadata_schema":
		return MetadataRefused, 0
	case "channel_not_found", "not_in_channel", "is_archived", "no_permission", "messages_tab_disabled", "ekm_access_denied", "cannot_reply_to_message", "thread_not_found", "not_enabled",
		"message_not_found", "cant_update_message", "edit_window_closed", "block_mismatch", "is_inactive": // these five are errors of edits
		return ChannelClosed, 0
	case "not_authed", "invalid_auth", "token_revoked", "token_expired", "account_inactive", "missing_scope", "team_access_not_granted",
		"org_login_required", "accesslimited", "app_access_restricted":
		return Forbidden, 0
	case "":
		// No answer. If the connection was refused nothing was posted; else it may have been.
		if DialFailed(err) {
			return NotSent, time.Second
		}
		return Doubtful, time.Second
	default:
		if strings.HasPrefix(name, "restricted_action") {
			return ChannelClosed, 0
		}
		return NotSent, time.Second
	}
}
