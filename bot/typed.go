package bot

import (
	"regexp"
	"strings"
)

// token matches what Slack makes of names and addresses in typed text: <@U0ANN|ann>, <#C0WAF|waf>, <http://host/path|host/path>.
var token = regexp.MustCompile(`<([^<>]*)>`)

// typed restores what a user typed from Slack's text: addresses as written, a user as <@U0ANN>.
func typed(text string) string {
	text = token.ReplaceAllStringFunc(text, func(found string) string {
		what, label, labelled := strings.Cut(strings.Trim(found, "<>"), "|")
		switch {
		case strings.HasPrefix(what, "@"):
			return "<" + what + ">"
		case strings.HasPrefix(what, "#") && label != "":
			return "#" + label
		case strings.HasPrefix(what, "#"), strings.HasPrefix(what, "!"):
			return found
		case labelled:
			return label
		}
		return strings.TrimPrefix(what, "mailto:")
	})
	// Slack escapes these three characters.
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}
