package grammar

import (
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/text"
)

// Never is the duration "forever".
const Never = time.Duration(-1)

// ParseDuration reads 30m, 12h, 7d, 2w or forever.
func ParseDuration(words string) (time.Duration, error) {
	if strings.EqualFold(words, "forever") {
		return Never, nil
	}
	d, err := model.ParseDuration(strings.ToLower(words))
	// The service counts whole seconds.
	if err != nil || time.Duration(d) < time.Second {
		return 0, refusal.Usage(text.New(refusal.Typed(words), " is no duration: write ", text.Code("30m"), ", ", text.Code("12h"), ", ", text.Code("7d"), ", ", text.Code("2w"), " or ", text.Code("forever")))
	}
	return time.Duration(d), nil
}

// DurationText is the canonical form of a duration.
func DurationText(d time.Duration) string {
	if d == Never {
		return "forever"
	}
	return model.Duration(d).String()
}
