package slackconn

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// DialFailed reports whether no connection was made, so that the other side received nothing.
func DialFailed(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
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

// The outcomes.
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
