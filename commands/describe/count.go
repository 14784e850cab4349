package describe

import (
	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/text"
)

// figure is a count with its noun.
func Figure(f apiclient.Figure, noun string) string { return f.String() + " " + text.Plural(f.N, noun) }
