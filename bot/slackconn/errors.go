package slackconn

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// DialFailed reports whether no connection was made, so that the other side received nothing.
func DialFailed(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// Detailed adds Slack's explanation of why it refuses a view or message.
func Detailed(err error) error {
	res, _ := errors.AsType[slack.SlackErrorResponse](err)
	if words := res.ResponseMetadata.Messages; len(words) > 0 {
		return fmt.Errorf("%w: %s", err, strings.Join(words, "; "))
	}
	return err
}

// ErrorName is Slack's name for an error; "" if it has none.
func ErrorName(err error) string {
	res, _ := errors.AsType[slack.SlackErrorResponse](err)
	return res.Err
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

// refusals are Slack's names of errors, by what they mean for a message.
func refusals() map[Outcome]string {
	return map[Outcome]string{
		ContentRefused: "invalid_blocks invalid_blocks_format msg_blocks_too_long msg_too_long too_many_attachments " +
			"attachment_payload_limit_exceeded invalid_arguments no_text",
		MetadataRefused: "metadata_too_large invalid_metadata_format invalid_metadata_schema",
		ChannelClosed: "channel_not_found not_in_channel is_archived no_permission messages_tab_disabled ekm_access_denied " +
			"cannot_reply_to_message thread_not_found not_enabled user_not_in_channel " +
			"message_not_found cant_update_message edit_window_closed block_mismatch is_inactive", // these five are of edits
		Forbidden: "not_authed invalid_auth token_revoked token_expired account_inactive missing_scope " +
			"team_access_not_granted org_login_required accesslimited app_access_restricted",
	}
}

// Judge classifies an error of a call that posts or edits, and returns how long to wait. A 429 does not prove that
// nothing was posted.
func Judge(err error) (v Outcome, wait time.Duration) {
	if held, ok := errors.AsType[*heldError](err); ok {
		return NotSent, held.limited.RetryAfter
	}
	if limited, ok := errors.AsType[*slack.RateLimitedError](err); ok {
		return Doubtful, limited.RetryAfter
	}
	name := ErrorName(err)
	for outcome, names := range refusals() {
		if slices.Contains(strings.Fields(names), name) {
			return outcome, 0
		}
	}
	_, status := errors.AsType[slack.StatusCodeError](err)
	switch {
	case strings.HasPrefix(name, "restricted_action"):
		return ChannelClosed, 0
	case status, tooMany(name), ownFault(name), name == "" && !DialFailed(err):
		return Doubtful, time.Second // without an answer it may have been posted, unless the connection was refused
	}
	return NotSent, time.Second
}

// Answered reports whether Slack is done with a request that failed: it answered, whatever the answer says. What a
// proxy answers for a Slack that doesn't (502, 503, 504) is none: the request may have been passed on. Slack's own 503
// can't be told from it.
func Answered(err error) bool {
	if status, ok := errors.AsType[slack.StatusCodeError](err); ok {
		return status.Code < http.StatusBadGateway || status.Code > http.StatusGatewayTimeout
	}
	return !errors.As(err, new(*unansweredError))
}

// Again reports whether an answer or a view that failed is worth another try, and how long to wait before: Slack didn't
// answer, was busy, or had a fault of its own. What it refuses under any other name it refuses for good. A refusal of
// Slack's has the status 200: any other is a fault, or a proxy's.
func Again(err error) (wait time.Duration, again bool) {
	if errors.Is(err, errNotSlack) || errors.Is(err, errUsedUp) {
		return 0, false
	}
	_, wait = Judge(err)
	name := ErrorName(err)
	return wait, name == "" || tooMany(name) || ownFault(name) || name == "team_added_to_org"
}

// tooMany reports whether Slack says that there are too many requests.
func tooMany(name string) bool { return name == "ratelimited" || name == "rate_limited" }

// ownFault reports whether Slack says that it failed.
func ownFault(name string) bool {
	return slices.Contains([]string{"internal_error", "fatal_error", "service_unavailable", "request_timeout"}, name)
}

// Trouble is an error of Slack in words for wafbot's operators.
type Trouble struct {
	Text string // what is wrong, with Slack's own name for it
	Fix  string // what to do
}

// Fixes that several errors share.
const (
	fixToken   = "take the token from the app's page at https://api.slack.com/apps once more: bot tokens (xoxb-…) are on OAuth & Permissions, app tokens (xapp-…) on Basic Information"
	fixRevoked = "install the app again (Install App, on its page at https://api.slack.com/apps) and give wafbot the new token"
	fixAdmin   = "ask an administrator of the workspace to approve the app"
	fixLater   = "wait a minute and try again; https://slack-status.com reports Slack's own faults"
	fixPosting = "let wafbot post there, in the channel's settings, or write another channel"
	fixInvite  = "type /invite @wafbot in that channel"
)

// FixScope says how the app gets a scope.
func FixScope(scope string) string {
	if scope == "connections:write" {
		return "make an app token (xapp-…) with connections:write: Basic Information, App-Level Tokens, on the app's page at https://api.slack.com/apps"
	}
	return "add " + scope + " under OAuth & Permissions on the app's page at https://api.slack.com/apps, or paste what wafbot manifest prints into App Manifest; then install the app again"
}

func troubles() map[string]Trouble {
	return map[string]Trouble{
		"not_authed":             {"Slack got no token", fixToken},
		"invalid_auth":           {"Slack doesn't know this token", fixToken},
		"not_allowed_token_type": {"Slack doesn't take this kind of token here", fixToken},
		"token_revoked":          {"the token was revoked", fixRevoked},
		"account_inactive":       {"the app was taken out of the workspace", fixRevoked},
		"user_removed_from_team": {"the app was taken out of the workspace", fixRevoked},
		"token_expired": {"the token has expired, and wafbot doesn't renew tokens",
			"make a new app from what wafbot manifest prints: its tokens don't expire"},
		"socket_mode_not_enabled": {"Socket Mode is switched off in the app's settings",
			"switch it on (Socket Mode, on the app's page at https://api.slack.com/apps), or leave slack.app_token out"},
		"team_access_not_granted": {"the workspace hasn't let the app in", fixAdmin},
		"org_login_required":      {"the workspace is being moved to another organisation", fixAdmin},
		"accesslimited":           {"the workspace restricts the app", fixAdmin},
		"app_access_restricted":   {"the workspace restricts the app", fixAdmin},
		"team_disabled":           {"the workspace was disabled", fixAdmin},
		"is_archived":             {"the channel is archived", "unarchive it in Slack, or write another channel"},
		"channel_not_found": {"no channel with this id can be seen by wafbot",
			"check the id; in a private channel, type /invite @wafbot there"},
		"not_in_channel": {"wafbot isn't in the channel", fixInvite},
		"no_permission":  {"wafbot may not post there", fixPosting},
		"messages_tab_disabled": {"the app takes no direct messages",
			"turn the Messages Tab on under App Home on the app's page"},
		"user_not_found":        {"there is no user with this id", "check the id: the profile's menu in Slack copies it"},
		"plan_upgrade_required": {"the workspace's plan has no user groups", "write user ids instead"},
	}
}

// Explain puts an error of Slack into words. It returns false, and words for that, if Slack didn't answer.
func Explain(err error) (Trouble, bool) {
	if limited, ok := errors.AsType[*slack.RateLimitedError](err); ok {
		return Trouble{fmt.Sprintf("Slack takes no more of these requests for %s (ratelimited)",
			limited.RetryAfter.Round(time.Second)), fixLater}, true
	}
	if status, ok := errors.AsType[slack.StatusCodeError](err); ok {
		fix := fixLater
		if status.Code/100 == 3 || status.Code/100 == 4 && status.Code != http.StatusTooManyRequests {
			fix = "check slack.api_url: it is https://slack.com/api/ but for GovSlack"
		}
		return Trouble{fmt.Sprintf("Slack failed: status %d", status.Code), fix}, true
	}
	name := ErrorName(err)
	trouble, known := troubles()[name]
	switch {
	case name == "":
		return Trouble{"no answer", fixLater}, false
	case name == "missing_scope":
		return missingScope(err), true
	case known:
	case tooMany(name):
		trouble = Trouble{"Slack takes no more of these requests for now", fixLater}
	case ownFault(name):
		trouble = Trouble{"Slack has a fault of its own", fixLater}
	case strings.HasPrefix(name, "restricted_action"):
		trouble = Trouble{"the channel's settings don't let wafbot post", fixPosting}
	default:
		trouble = Trouble{"Slack refuses it", "look that name up at https://docs.slack.dev/reference/methods"}
	}
	trouble.Text += " (" + name + ")"
	return trouble, true
}

// Brief is what is wrong, for people who run wafbot.
func Brief(err error) string {
	t, _ := Explain(err)
	return t.Text
}

// ExplainAppToken is Explain for the app-level token, which installing the app again does not renew.
func ExplainAppToken(err error) (Trouble, bool) {
	t, ok := Explain(err)
	switch ErrorName(err) {
	case "not_authed", "invalid_auth", "not_allowed_token_type", "token_revoked", "token_expired", "missing_scope":
		t.Fix = FixScope("connections:write")
	}
	return t, ok
}

func missingScope(err error) Trouble {
	res, _ := errors.AsType[slack.SlackErrorResponse](err)
	if res.Needed == "" {
		return Trouble{"the token lacks a scope (missing_scope)",
			"compare its scopes with what wafbot manifest prints, add what is missing, and install the app again"}
	}
	return Trouble{"the token lacks the scope " + res.Needed + " (missing_scope)", FixScope(res.Needed)}
}
