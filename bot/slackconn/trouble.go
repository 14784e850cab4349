package slackconn

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

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
		"not_authed":              {"Slack got no token", fixToken},
		"invalid_auth":            {"Slack doesn't know this token", fixToken},
		"not_allowed_token_type":  {"Slack doesn't take this kind of token here", fixToken},
		"token_revoked":           {"the token was revoked", fixRevoked},
		"account_inactive":        {"the app was taken out of the workspace", fixRevoked},
		"user_removed_from_team":  {"the app was taken out of the workspace", fixRevoked},
		"token_expired":           {"the token has expired, and wafbot doesn't renew tokens", "make a new app from what wafbot manifest prints: its tokens don't expire"},
		"socket_mode_not_enabled": {"Socket Mode is switched off in the app's settings", "switch it on (Socket Mode, on the app's page at https://api.slack.com/apps), or leave slack.app_token out"},
		"team_access_not_granted": {"the workspace hasn't let the app in", fixAdmin},
		"org_login_required":      {"the workspace is being moved to another organisation", fixAdmin},
		"accesslimited":           {"the workspace restricts the app", fixAdmin},
		"app_access_restricted":   {"the workspace restricts the app", fixAdmin},
		"team_disabled":           {"the workspace was disabled", fixAdmin},
		"is_archived":             {"the channel is archived", "unarchive it in Slack, or write another channel"},
		"channel_not_found":       {"no channel with this id can be seen by wafbot", "check the id; in a private channel, type /invite @wafbot there"},
		"not_in_channel":          {"wafbot isn't in the channel", fixInvite},
		"no_permission":           {"wafbot may not post there", fixPosting},
		"messages_tab_disabled":   {"the app takes no direct messages", "turn the Messages Tab on under App Home on the app's page"},
		"user_not_found":          {"there is no user with this id", "check the id: the profile's menu in Slack copies it"},
		"plan_upgrade_required":   {"the workspace's plan has no user groups", "write user ids instead"},
	}
}

// Explain puts an error of Slack into words. It returns false if Slack didn't answer.
func Explain(err error) (Trouble, bool) {
	if limited := (*slack.RateLimitedError)(nil); errors.As(err, &limited) {
		return Trouble{fmt.Sprintf("Slack takes no more of these requests for %s (ratelimited)", limited.RetryAfter.Round(time.Second)), fixLater}, true
	}
	var status slack.StatusCodeError
	if errors.As(err, &status) {
		fix := fixLater
		if status.Code/100 == 4 && status.Code != http.StatusTooManyRequests {
			fix = "check slack.api_url: it is https://slack.com/api/ but for GovSlack"
		}
		return Trouble{fmt.Sprintf("Slack failed: status %d", status.Code), fix}, true
	}
	name := ErrorName(err)
	trouble, known := troubles()[name]
	switch {
	case name == "":
		return Trouble{}, false
	case name == "missing_scope":
		return missingScope(err), true
	case known:
	case name == "ratelimited" || name == "rate_limited":
		trouble = Trouble{"Slack takes no more of these requests for now", fixLater}
	case name == "internal_error" || name == "fatal_error" || name == "service_unavailable" || name == "request_timeout":
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
	if t, ok := Explain(err); ok {
		return t.Text
	}
	return "no answer"
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
	var res slack.SlackErrorResponse
	if !errors.As(err, &res) || res.Needed == "" {
		return Trouble{"the token lacks a scope (missing_scope)", "compare its scopes with what wafbot manifest prints, add what is missing, and install the app again"}
	}
	return Trouble{"the token lacks the scope " + res.Needed + " (missing_scope)", FixScope(res.Needed)}
}
