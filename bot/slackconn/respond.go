package slackconn

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
)

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
