package tricks

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks in a row count as writing: Vietnamese and Hebrew have three.
const maxMarks = 12

// unseen are the characters that change how others look, or stand there and aren't seen.
var unseen = []*unicode.RangeTable{
	unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Noncharacter_Code_Point,
}

// Plain says what in a text does more than stand there: what isn't UTF-8, moves a cursor, turns the direction of writing, or isn't seen.
// Line ends are the caller's to split at.
func Plain(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("no UTF-8: %.200q", text)
	}
	marks, before := 0, ' '
	for i, r := range text {
		if marks++; !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
		}
		picture := r == '\ufe0f' && unicode.Is(unicode.So, before) // an emoji drawn as such
		if unicode.In(r, unseen...) && !picture || r == '\u2800' || marks > maxMarks {
			return fmt.Errorf("%U does more than stand there: %.200q", r, text[max(0, i-20):])
		}
		before = r
	}
	return nil
}

var (
	forged     = regexp.MustCompile(`<[@#!][^<>]*0EVIL[^<>]*>|<[a-z]+:(//)?[^/<>|]*evil\.example[^<>]*>`) // what the corpus calls and links
	dateToken  = regexp.MustCompile(`<!date\^[0-9]+\^(\{date_short_pretty\} \{time\}|\{time\}|\{ago\})\|[0-9: -]+ UTC>`)
	callToken  = regexp.MustCompile(`<(@|!subteam\^)[A-Z0-9]+>`)
	linkToken  = regexp.MustCompile(`<#[A-Z0-9]+>|<https?://[^<>|\s]+\|[A-Za-z ]+>`)
	codeSpan   = regexp.MustCompile("(^|[\\s(\\[{])`[^`\n]*[^`\\s]`")
	boldSpan   = regexp.MustCompile(`(^|[\s(\[{])\*[^*\n]*[^*\s]\*`)
	emoji      = regexp.MustCompile(`:[^\s:|()]+:`)
	formatting = regexp.MustCompile("[*~`<>]|(^|[^\\pL\\pN])_|_([^\\pL\\pN]|$)")
)

// Markup says what Slack would read into a line of markup beside wafbot's own code, bold, dates, calls, channels and links. It reads as Slack does:
// tokens, then code, then the rest.
func Markup(line string) error {
	if err := Plain(line); err != nil {
		return err
	}
	if token := forged.FindString(line); token != "" {
		return fmt.Errorf("a token of a stranger's, %s, in %.300q", token, line)
	}
	rest := dateToken.ReplaceAllString(line, "|")
	rest = callToken.ReplaceAllString(rest, "|")
	rest = linkToken.ReplaceAllString(rest, "|")
	if strings.ContainsAny(rest, "<>") {
		return fmt.Errorf("a token in %.300q", line)
	}
	rest = codeSpan.ReplaceAllString(rest, "${1}C")
	rest = boldSpan.ReplaceAllString(rest, "${1}B")
	switch {
	case formatting.MatchString(rest):
		return fmt.Errorf("formatting in %.300q", line)
	case emoji.MatchString(rest):
		return fmt.Errorf("an emoji in %.300q", line)
	case strings.Contains(rest, "://"):
		return fmt.Errorf("a link in %.300q", line)
	case strings.HasPrefix(line, "&gt;"):
		return fmt.Errorf("a quotation: %.300q", line)
	}
	return nil
}

// Blocks says what in Slack's blocks, or in a view, as JSON gives them, is not harmless: a text in markup that Slack would read more into, or may
// make links of; a plain text in which emoji are drawn; anything else that is shown and does more than stand there.
func Blocks(doc any) error {
	switch d := doc.(type) {
	case map[string]any:
		if err := object(d); err != nil {
			return err
		}
		for _, v := range d {
			if err := Blocks(v); err != nil {
				return err
			}
		}
	case []any:
		for _, v := range d {
			if err := Blocks(v); err != nil {
				return err
			}
		}
	}
	return nil
}

func object(o map[string]any) error {
	text, _ := o["text"].(string)
	switch o["type"] {
	case "mrkdwn":
		if o["verbatim"] != true {
			return fmt.Errorf("links may be made of %.300q", text)
		}
		return Lines(text, Markup)
	case "plain_text":
		if o["emoji"] != false {
			return fmt.Errorf("emoji may be drawn in %.300q", text)
		}
		return Plain(text)
	}
	return Lines(text, Plain)
}

// Lines holds each line of a text against a check.
func Lines(text string, check func(line string) error) error {
	for line := range strings.SplitSeq(text, "\n") {
		if err := check(line); err != nil {
			return err
		}
	}
	return nil
}

// maxLog is how long a line of a log may be, in bytes: journald's default is 48 kB, syslog's over TCP 8 kB.
const maxLog = 8 << 10

// LogLine says what in a line of a log is not harmless.
func LogLine(line string) error {
	if len(line) > maxLog {
		return fmt.Errorf("%d bytes in one line: %.300q", len(line), line)
	}
	return Plain(line)
}
