package workspace

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// composed matches what Slack's composer converts, in this order at each place: code, which stays, addresses, mail addresses, people and groups,
// channels, bare domains. A two-letter top-level domain is a country's.
var composed = regexp.MustCompile("```(?s:.*?)```|`[^`\n]+`" +
	`|(?i:(?P<url>https?://[^\s<>|]+)` +
	`|(?P<mail>[a-z0-9._%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,})` +
	`|(?P<name>@[a-z0-9._-]+)` +
	`|(?P<channel>#[a-z0-9_-]+)` +
	`|(?P<domain>(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:com|net|org|info|biz|edu|gov|app|dev|cloud|[a-z]{2})\b(?::\d+)?(?:[/?#][^\s<>|]*)?))`)

// typed converts typed text as Slack does: &, < and > to entities, names to ids, addresses to links. In a command, whose manifest has should_escape,
// people's names follow their ids.
func (w *people) typed(text string, command bool) string {
	var out strings.Builder
	at := 0
	for _, m := range composed.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(escape(text[at:m[0]]))
		at = m[1]
		found := text[m[0]:m[1]]
		kind := kindOf(m)
		if kind == "" || withinWord(text[:m[0]]) {
			out.WriteString(escape(found))
			continue
		}
		bare := strings.TrimRight(found, ".,;:!?)]'\"")
		out.WriteString(w.linked(kind, bare, command) + escape(found[len(bare):]))
	}
	return out.String() + escape(text[at:])
}

// kindOf names the group that matched; empty: code.
func kindOf(match []int) string {
	for group, name := range composed.SubexpNames() {
		if name != "" && match[2*group] >= 0 {
			return name
		}
	}
	return ""
}

// withinWord reports whether a text ends inside a word.
func withinWord(before string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	return last == '_' || unicode.IsLetter(last) || unicode.IsDigit(last)
}

// linked is a match in Slack's markup.
func (w *people) linked(kind, found string, command bool) string {
	switch kind {
	case "url":
		return "<" + escape(found) + ">"
	case "mail":
		return "<mailto:" + escape(found) + "|" + escape(found) + ">"
	case "domain":
		return "<http://" + escape(found) + "|" + escape(found) + ">"
	case "channel":
		if c := w.channel(found); c != nil && c.family() != "im" {
			return "<#" + c.ID + "|" + c.Name + ">"
		}
		return escape(found)
	}
	return w.mention(found, command)
}

// mention is an @name in Slack's markup.
func (w *people) mention(found string, command bool) string {
	name := found[1:]
	if slices.Contains([]string{"here", "channel", "everyone"}, name) {
		return "<!" + name + ">"
	}
	i := slices.IndexFunc(w.users, func(u User) bool { return u.Name == name && !u.Deleted })
	if i >= 0 && command {
		return "<@" + w.users[i].ID + "|" + name + ">"
	}
	if i >= 0 {
		return "<@" + w.users[i].ID + ">"
	}
	if i = slices.IndexFunc(w.groups, func(g UserGroup) bool { return g.Handle == name && !g.Disabled }); i >= 0 {
		return "<!subteam^" + w.groups[i].ID + "|@" + name + ">"
	}
	return escape(found)
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
