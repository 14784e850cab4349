package approval

import (
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/text"
)

// MaxAge is how long after it was asked a change may still be begun: later the world is another one.
const MaxAge = 10 * time.Minute

// Late reports whether the call was asked too long ago for anything to be begun.
func Late(c *call.Call) bool { return !c.At.IsZero() && c.Now.Sub(c.At) > MaxAge }

// TooLate refuses such a call.
func TooLate(c *call.Call) error {
	return refusal.Guarded(text.New("that was asked at ", c.At, ", over ", text.Duration(MaxAge), " ago: nothing was done. Ask again if it is still wanted"))
}
