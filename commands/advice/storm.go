package advice

import (
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// noStormDeny says what stops a storm that no one source is behind.
func noStormDeny(s call.Situation) []text.Text {
	lines := []text.Text{text.New(text.Bold("No one deny stops this."), " ", text.Bold("What can:"), " a rate limit or captcha in the application · a header that the requests share, your own list of addresses: under More")}
	method, place, ok := stormPlace(s)
	if !ok || WatchedOnly(s) {
		return lines
	}
	closing := record.Line{Name: "block-path", Words: []string{method, place}}.With("for", "30m")
	line := text.New("At that path: ", text.Code(closing.String()), " blocks all requests, clean ones too")
	if apiclient.Patchable(s.Attack.Type) {
		patching := record.Line{Name: "patch", Words: []string{method, place}}.With("type", s.Attack.Type).With("part", "…")
		line = text.New(line, " · ", text.Code(patching.String()), " closes the hole alone; the part is in the list")
	}
	return append(lines, line)
}

// stormPlace is the path that most of the storm goes to, as a line names it; ok reports whether there is one and it is known whole.
func stormPlace(s call.Situation) (method, place string, ok bool) {
	method, place, ok = strings.Cut(s.Storm.Place, " ")
	return method, place, ok && method != "" && !strings.HasSuffix(place, "…") && place == text.Sanitize(place, text.MaxHost+text.MaxPath)
}

// ownCards is the button that gives the outliers cards of their own; none without outliers.
func ownCards(s call.Situation) []call.Suggestion {
	label := "Own card for the outlier"
	switch left := s.Storm.OutlierCount; {
	case left == 0:
		return nil
	case left > describe.MostCards:
		label = fmt.Sprintf("Own cards for %d of the %s", describe.MostCards, text.Number(left))
	case left > 1:
		label = fmt.Sprintf("Own cards for the %d", left)
	}
	return []call.Suggestion{{Label: label, Line: lineFor(s, "cards")}}
}
