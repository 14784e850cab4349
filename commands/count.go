package commands

import (
	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/text"
)

// figure is a count with its noun.
func figure(f apiclient.Figure, noun string) string { return f.String() + " " + text.Plural(f.N, noun) }

// count is a number with its noun.
func count(n int, noun string) string { return figure(apiclient.Known(int64(n)), noun) }

// number is a number as people read it.
func number(n int) string { return apiclient.Known(int64(n)).String() }
