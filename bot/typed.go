package bot

import (
	"regexp"
	"strings"
)

// token is what Slack makes of names and addresses in what people type: <@U0ANN|ann>, <#C0WAF|waf>, <http://host/path|host/path>.
var token = regexp.MustCompile(`<([^<>]*)>`)

// typed is what a person typed, of the text that Slack made of it: addresses as they were written, a user as <@U0ANN>.
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
	// Slack writes these three characters as entities.
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}
