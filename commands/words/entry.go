package words

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/text"
)

// Targets names targets, the first three of many.
func Targets(ts []grammar.Target) string {
	return text.Enumerate(ts, 3, func(t grammar.Target) text.Text { return text.New(t.String()) }).String()
}

// Sources are an entry's sources as the grammar writes them.
func Sources(e apiclient.IPRule) string {
	return text.Sanitize(targets(e, ", "), text.MaxPath)
}

func targets(e apiclient.IPRule, between string) string {
	var all []string
	for _, t := range grammar.TargetsOf(e) {
		all = append(all, t.String())
	}
	return strings.Join(all, between)
}

// ListName is an IP list for people.
func ListName(list string) string {
	names := map[string]string{apiclient.ListDeny: "denylist", apiclient.ListAllow: "allowlist",
		apiclient.ListGray: "graylist"}
	return cmp.Or(names[list], "list "+text.Field(list))
}

// ShortEntry says that an entry which is to hold so long may hold longer; nothing of one that lives as long as the
// service's console lets it.
func ShortEntry(length time.Duration) string {
	if length == grammar.Never || length >= apiclient.ShortestEntry {
		return ""
	}
	return fmt.Sprintf("the service's console lets a list entry live %s at least: this one may hold longer than %s",
		text.Duration(apiclient.ShortestEntry), text.Duration(length))
}

// Until says when an entry ends, with the space before it.
func Until(t time.Time) text.Text {
	switch {
	case t.IsZero():
		return text.New(" (until when, the service doesn't say)")
	case !t.Before(apiclient.Forever):
		return text.New(" forever")
	}
	return text.New(" until ", t)
}

// personIn is the person in a reason that wafbot wrote, with the id that stands there for programs.
var personIn = regexp.MustCompile(`^(wafbot c[0-9a-z]{8} by .*?) \((?:[UW][A-Z0-9]+|cli:[^)\s]*)\)`)

// withoutID is the reason of an entry or rule for people: who made it stands there by name alone.
func withoutID(reason string) string { return personIn.ReplaceAllString(reason, "$1") }

// Author says who made an entry, as far as the service lists it: its own author, and the reason, in which wafbot names
// the person.
func Author(e apiclient.IPRule) text.Text {
	switch {
	case e.Reason != "":
		return text.Newf(" (%v)", text.Sanitize(withoutID(e.Reason), 120))
	case e.Author != "":
		return text.Newf(" (by %v)", text.Field(e.Author))
	}
	return nil
}
