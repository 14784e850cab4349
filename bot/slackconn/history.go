package slackconn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
)

// HistoryMessage is what is needed of a posted message. It is not slack-go's type, which refuses a whole page for one
// unknown block.
type HistoryMessage struct {
	TS          string          `json:"ts"`
	Thread      string          `json:"thread_ts"` // of a message with replies: its own TS
	BotID       string          `json:"bot_id"`
	User        string          `json:"user"` // who posted it; "": a bot that shows another name
	RawMetadata json.RawMessage `json:"metadata"`
}

// Metadata decodes the message's metadata. It is empty if it has another form than wafbot's.
func (p HistoryMessage) Metadata() (m slack.SlackMetadata) {
	if json.Unmarshal(p.RawMetadata, &m) != nil {
		return slack.SlackMetadata{}
	}
	return m
}

// HistoryQuery says which messages to read. One reading of a channel or thread begins with a query without a cursor,
// and goes on with those that follow it.
type HistoryQuery struct {
	Channel string
	Thread  string // "": the channel's own messages
	Oldest  string // a ts
	Cursor  string // "": the first page; in what follows: there is none

	read map[string]bool // the cursors of its reading
}

const historyPage = 200

// maxPages is how many pages a reading has at most: two million messages.
const maxPages = 10_000

// ErrSamePage says that a channel or thread goes on, by what Slack says, with a page that was read already, or with
// very many: it would never end.
var ErrSamePage = errors.New("slack's pages of messages don't end")

// History reads a page of a channel or thread, with metadata (conversations.history, conversations.replies). Where
// people wrote so much that a page is too large to be read, it reads a smaller one.
func (s *Client) History(ctx context.Context, q HistoryQuery) (msgs []HistoryMessage, next HistoryQuery, err error) {
	cursor := ""
	for limit := historyPage; ; limit /= 10 {
		msgs, cursor, err = s.readPage(ctx, q, limit)
		if _, tooLarge := errors.AsType[*tooLargeError](err); !tooLarge || limit < 10 {
			break
		}
	}
	switch {
	case err != nil || cursor == "":
		return msgs, HistoryQuery{}, err
	case q.read[cursor] || len(q.read) == maxPages:
		return nil, HistoryQuery{}, ErrSamePage
	case q.read == nil:
		q.read = map[string]bool{}
	}
	q.Cursor, q.read[cursor] = cursor, true
	return msgs, q, nil
}

// readPage reads one page. Its errors are slack-go's.
func (s *Client) readPage(ctx context.Context, q HistoryQuery, limit int) (msgs []HistoryMessage, cursor string,
	err error) {
	method := methodHistory
	form := url.Values{"channel": {q.Channel}, "oldest": {q.Oldest}, "limit": {strconv.Itoa(limit)},
		"include_all_metadata": {"true"}}
	if q.Cursor != "" {
		form.Set("cursor", q.Cursor)
	}
	if q.Thread != "" {
		method = methodReplies
		form.Set("ts", q.Thread)
	}
	var answer struct {
		OK       bool             `json:"ok"`
		Error    string           `json:"error"`
		Needed   string           `json:"needed"` // the scope that is missing
		Messages []HistoryMessage `json:"messages"`
		Metadata struct {
			NextCursor string `json:"next_cursor"`
		} `json:"response_metadata"`
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.APIURL+method, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, "", apiclient.WithoutURL(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token.Reveal())
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := s.http.Do(req) //nolint:bodyclose // it is read to its end already
	switch {
	case err != nil:
		return nil, "", err
	case res.StatusCode == http.StatusTooManyRequests:
		return nil, "", &slack.RateLimitedError{RetryAfter: apiclient.RetryAfter(res.Header)}
	case res.StatusCode != http.StatusOK:
		return nil, "", slack.StatusCodeError{Code: res.StatusCode, Status: res.Status}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return nil, "", fmt.Errorf("read answer of %s: %w", method, err)
	}
	if !answer.OK {
		return nil, "", slack.SlackErrorResponse{Err: answer.Error, Needed: answer.Needed}
	}
	return answer.Messages, answer.Metadata.NextCursor, nil
}

// WrittenAt is when a message was written, at most now. Slack may deliver it much later.
func WrittenAt(ts string, now time.Time) time.Time {
	if at := ParseTS(ts); !at.IsZero() && at.Before(now) {
		return at.Truncate(time.Second)
	}
	return now
}

// ParseTS parses a timestamp of Slack; zero if it is none.
func ParseTS(ts string) time.Time {
	seconds, err := strconv.ParseFloat(ts, 64)
	if err != nil || !(seconds > 0 && seconds < 1<<40) { // NaN is neither
		return time.Time{}
	}
	return time.UnixMicro(int64(seconds * 1e6)).UTC()
}
