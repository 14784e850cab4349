package call

import (
	"regexp"
	"strings"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/text"
)

// Me is the one who asks, as a user that is named.
const Me = "me"

// userID is a Slack user as Slack writes a mention, or as a person writes one by hand.
var userID = regexp.MustCompile(`^<?@?([UW][A-Z0-9]{1,19})(\|[^>]*)?>?$`)

// ReadUser takes @me, a mention, or a Slack user id.
func ReadUser(value string, _ *Account) (string, error) {
	if strings.EqualFold(strings.TrimPrefix(value, "@"), Me) {
		return Me, nil
	}
	if m := userID.FindStringSubmatch(value); m != nil {
		return m[1], nil
	}
	return "", refusal.Usage(text.New(refusal.Typed(value), " can't be looked up: write ", text.Code("@me"), ", or the user's id, as ", text.Code("U0123ABCD"),
		" (in Slack: the profile, ⋮, Copy member ID)"))
}
