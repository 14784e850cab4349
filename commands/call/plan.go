package call

import (
	"time"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Plan is one change as it would be made, by what the service listed just now.
type Plan struct {
	Line     record.Line   // canonical, of this change alone
	Does     string        // "Deny 203.0.113.7 everywhere for 4 h"
	When     string        // "in about 1 min"
	Steps    []record.Step // none: Nothing says why, or only the store changes
	Until    time.Time
	Nothing  text.Text   // why there is nothing to do
	Role     record.Role // the least role, where only what stands there tells
	Warnings []refusal.Warning
	Notes    []text.Text // what else the person should know afterwards
	Undoes   string      // the change that this one undoes
	Extends  string      // the change whose end this one moves
	Renews   time.Time   // to when wafbot prolongs it while its source still tries; zero: it doesn't
	Part     string      // what tells it from the others of its line, where their number isn't the command's own; "": its place
	// Later makes the plan itself when its turn comes, because what is done before decides about it; nil: this is it.
	Later func(c *Call) (Plan, error)
}

// Effect is what makes the plan the same as another.
func (p Plan) Effect() string { return Effect(p.Line) }

// Effect is what makes two requests the same: the line without why and what for.
func Effect(l record.Line) string { return l.With("reason", "").With("attack", "").String() }
