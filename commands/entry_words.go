package commands

import (
	"fmt"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// severalTargets names targets, the first three of many.
func severalTargets(ts []Target) string {
	var all []string
	for _, t := range ts[:min(3, len(ts))] {
		all = append(all, t.String())
	}
	text := strings.Join(all, ", ")
	if more := len(ts) - len(all); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// names are an entry's sources as the grammar writes them.
func names(e apiclient.IPRule) string {
	var all []string
	for _, t := range targetsOf(e) {
		all = append(all, t.String())
	}
	return Visible(strings.Join(all, ", "), maxPath)
}

func listName(list string) string {
	switch list {
	case apiclient.ListDeny:
		return "denylist"
	case apiclient.ListAllow:
		return "allowlist"
	case apiclient.ListGray:
		return "graylist"
	}
	return "list " + Visible(list, maxField)
}

func untilText(t time.Time) Text {
	switch {
	case t.IsZero():
		return Say(" (until when, the service doesn't say)")
	case !t.Before(apiclient.Forever):
		return Say(" forever")
	}
	return Say(" until ", t)
}

// byText says who made an entry, as far as the service tells: its own author, and the reason, in which wafbot names the person.
func byText(e apiclient.IPRule) Text {
	switch {
	case e.Reason != "":
		return Say(" (", Visible(e.Reason, 120), ")")
	case e.Author != "":
		return Say(" (by ", Visible(e.Author, maxField), ")")
	}
	return nil
}

func join(a, b Text) Text {
	if len(a) == 0 {
		return b
	}
	return Say(a, "; ", b)
}
