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
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/slack-go/slack"
	"golang.org/x/time/rate"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/metrics"
)

// Config is what a Client works with.
type Config struct {
	Token    apiclient.Secret       // the bot's
	AppToken apiclient.Secret       // opens Socket Mode links; "": none are opened
	APIURL   string                 // ends with a slash; "": Slack's own
	HTTP     *http.Client           // nil: one with a timeout of 10 s; slack-go's own has none
	People   People                 // nil: there is only one replica
	Calls    *prometheus.CounterVec // by method and outcome; nil: counted for nobody
	Log      *slog.Logger           // nil: discarded
}

// Client is the connection to one workspace.
type Client struct {
	Config
	api    *slack.Client
	http   *caller
	silent atomic.Int64 // until when response URLs aren't used, Unix ms
	groups groups

	mu      sync.Mutex
	self    *Identity
	app     string // id of the token's app; "": not known yet
	members map[string]member

	unknown rate.Sometimes // logs that a user could not be looked up

	trying  sync.Mutex
	tried   time.Time
	refused error // result at that time
}

// Identity is the owner of the token: the app in its workspace.
type Identity struct {
	Team, User, Bot    string   // ids
	Enterprise         string   // id of the Enterprise Grid that the workspace is of; "": of none
	TeamName, UserName string   // of the workspace, and of the bot user
	Scopes             []string // of the token; nil: Slack didn't say
	url                string   // of the workspace, ends with a slash
}

// Timeout bounds a call of Slack. A call that was sent longer ago can't take effect any more.
const Timeout = 10 * time.Second

// Connect makes a Client. It sends nothing.
func Connect(cfg Config) *Client {
	if cfg.HTTP == nil {
		cfg.HTTP = apiclient.NewHTTP() // posts, edits and answers go out at the same time: Go keeps two connections, and would open the others again each time
		cfg.HTTP.Timeout = Timeout
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Calls = cmp.Or(cfg.Calls, metrics.New().SlackCalls)
	cfg.APIURL = cmp.Or(cfg.APIURL, slack.APIURL)
	caller := &caller{
		client: apiclient.WithoutRedirects(cfg.HTTP), api: cfg.APIURL, held: map[string]hold{}, calls: cfg.Calls,
		log: cfg.Log,
	}
	return &Client{
		Config: cfg,
		api: slack.New(cfg.Token.Reveal(), slack.OptionAppLevelToken(cfg.AppToken.Reveal()), slack.OptionHTTPClient(caller),
			slack.OptionAPIURL(cfg.APIURL)),
		http:    caller,
		members: map[string]member{},
		unknown: rate.Sometimes{Interval: unknownAgain},
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

// authTest asks Slack for the token's owner and scopes (auth.test).
func (s *Client) authTest(ctx context.Context) (Identity, error) {
	res, err := s.api.AuthTestContext(ctx)
	if err != nil {
		return Identity{}, fmt.Errorf("ask slack who wafbot is: %w", err)
	}
	self := Identity{Enterprise: res.EnterpriseID, Team: res.TeamID, User: res.UserID, Bot: res.BotID, TeamName: res.Team,
		UserName: res.User, url: res.URL}
	for scope := range strings.SplitSeq(res.Header.Get("X-OAuth-Scopes"), ",") {
		if scope = strings.TrimSpace(scope); scope != "" {
			self.Scopes = append(self.Scopes, scope)
		}
	}
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

// Conversation is a channel.
type Conversation struct {
	Name     string // "": a direct message
	Private  bool
	Archived bool
	Member   bool // wafbot is a member
}

// Conversation looks up a channel by its id (conversations.info).
func (s *Client) Conversation(ctx context.Context, id string) (Conversation, error) {
	c, err := s.api.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: id})
	if err != nil {
		return Conversation{}, fmt.Errorf("look up channel %s: %w", id, err)
	}
	return Conversation{Name: c.Name, Private: c.IsPrivate, Archived: c.IsArchived, Member: c.IsMember || c.IsIM}, nil
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

// Ephemeral shows a message in a channel, or in a thread there, to one user only (chat.postEphemeral).
func (s *Client) Ephemeral(ctx context.Context, at Place, user string, options ...slack.MsgOption) error {
	if at.Thread != "" {
		options = append(options, slack.MsgOptionTS(at.Thread))
	}
	if _, err := s.api.PostEphemeralContext(ctx, at.Channel, user, options...); err != nil {
		return fmt.Errorf("show %s a message: %w", user, err)
	}
	return nil
}

// Place is a channel, or a thread in one.
type Place struct {
	Channel string
	Thread  string // "": none
}

// Post posts a message (chat.postMessage).
func (s *Client) Post(ctx context.Context, channel string, options ...slack.MsgOption) (postedIn, ts string,
	err error) {
	postedIn, ts, err = s.api.PostMessageContext(ctx, channel, options...)
	if err != nil {
		return "", "", fmt.Errorf("post to %s: %w", channel, err)
	}
	return postedIn, ts, nil
}

// Update replaces a message (chat.update).
func (s *Client) Update(ctx context.Context, channel, ts string, options ...slack.MsgOption) error {
	_, _, _, err := s.api.UpdateMessageContext(ctx, channel, ts, options...)
	return err
}

// Delete deletes one of wafbot's own messages (chat.delete).
func (s *Client) Delete(ctx context.Context, channel, ts string) error {
	_, _, err := s.api.DeleteMessageContext(ctx, channel, ts)
	return err
}

// OpenView opens a modal with a trigger, which is valid for three seconds (views.open).
func (s *Client) OpenView(ctx context.Context, trigger string, v slack.ModalViewRequest) (id string, err error) {
	opened, err := s.api.OpenViewContext(ctx, trigger, v)
	if err != nil {
		return "", err
	}
	return opened.ID, nil
}

// UpdateView replaces a modal (views.update).
func (s *Client) UpdateView(ctx context.Context, id string, v slack.ModalViewRequest) error {
	_, err := s.api.UpdateViewContext(ctx, v, "", "", id)
	return err
}

// PublishHome publishes a user's Home tab (views.publish).
func (s *Client) PublishHome(ctx context.Context, user string, v slack.HomeTabViewRequest) error {
	if _, err := s.api.PublishViewContext(ctx, slack.PublishViewContextRequest{UserID: user, View: v}); err != nil {
		return fmt.Errorf("publish home tab of %s: %w", user, err)
	}
	return nil
}

// Where Slack's response URLs are, whatever slack.api_url is: it may be a proxy's.
const responseHost = "hooks.slack.com"

// errNotSlack says that an answer was not sent because its address isn't Slack's.
var errNotSlack = errors.New("the response URL is on another host than Slack's")

// errUsedUp says that a response URL takes no more answers: it takes five, within half an hour.
var errUsedUp = errors.New("the response URL takes no answer")

// silentAgain is how long response URLs aren't used after one got no answer in time: each would hold an answer up for
// as long.
const silentAgain = 5 * time.Minute

var errSilent = errors.New("its host gave no answer lately")

// Responses is where response URLs lead: Slack's hooks, GovSlack's, or the host of another slack.api_url.
func Responses(apiURL string) string {
	api, err := url.Parse(cmp.Or(apiURL, slack.APIURL))
	if err != nil || api.Hostname() == "slack.com" {
		return "https://" + responseHost
	}
	if api.Hostname() == "slack-gov.com" {
		return "https://hooks." + api.Host
	}
	return api.Scheme + "://" + api.Host
}

// Respond posts to a request's response URL, if that is Slack's. Success is a bare "ok", or {"ok":true}: slack-go would
// take any answer with status 200 for that.
func (s *Client) Respond(ctx context.Context, address string, msg *slack.WebhookMessage) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("use response address: %w", err)
		}
	}()
	body, err := json.Marshal(msg)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	switch {
	case err != nil:
		return apiclient.WithoutURL(err)
	case !s.answersAt(req.URL):
		return errNotSlack
	case time.Now().UnixMilli() < s.silent.Load():
		return errSilent
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := s.http.Do(req) //nolint:bodyclose // it is read to its end already
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() && ctx.Err() == nil {
		s.silent.Store(time.Now().Add(silentAgain).UnixMilli())
		s.Log.ErrorContext(ctx, "the host of response URLs gives no answer: people are answered without",
			"host", req.URL.Host, "again", silentAgain)
	}
	if err != nil {
		return err
	}
	said, _ := io.ReadAll(res.Body)
	var answer slack.SlackResponse
	switch plain := json.Unmarshal(said, &answer) != nil && string(bytes.TrimSpace(said)) == "ok"; {
	case res.StatusCode/100 == 2 && (plain || answer.Ok):
		return nil
	case res.StatusCode/100 == 4 && res.StatusCode != http.StatusTooManyRequests || answer.Error != "":
		return fmt.Errorf("%w: status %d %s", errUsedUp, res.StatusCode, answer.Error)
	}
	return slack.StatusCodeError{Code: res.StatusCode, Status: res.Status}
}

// answersAt reports whether an address is where Slack takes answers: the host of its API, its hooks, or those of
// GovSlack.
func (s *Client) answersAt(u *url.URL) bool {
	api, err := url.Parse(s.APIURL)
	if err != nil {
		return false
	}
	switch u.Hostname() {
	case api.Hostname():
		return u.Scheme == api.Scheme
	case responseHost, "hooks." + api.Hostname():
		return u.Scheme == "https"
	}
	return false
}
