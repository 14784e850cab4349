// Package hostiletext holds samples of what attackers write, and checks whether a text that wafbot shows is harmless.
// Only tests import it.
package hostiletext

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed corpus.txt
var corpus string

// Sample is a text that an attacker writes.
type Sample struct {
	Text    string
	Purpose string // what the attacker wants it to do
}

// Samples returns the corpus. It panics when a line can't be read.
func Samples() []Sample {
	var all []Sample
	for line := range strings.Lines(corpus) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		one, err := parse(line)
		if err != nil {
			panic(fmt.Sprintf("read sample %s: %v", line, err))
		}
		all = append(all, one)
	}
	return all
}

// parse reads a line: a quoted Go string, optionally "x N" for N repetitions, the purpose.
func parse(line string) (Sample, error) {
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil {
		return Sample{}, err
	}
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return Sample{}, err
	}
	purpose, n := strings.TrimSpace(line[len(quoted):]), 1
	if repeated, ok := strings.CutPrefix(purpose, "x "); ok {
		times, rest, _ := strings.Cut(repeated, " ")
		if n, err = strconv.Atoi(times); err != nil {
			return Sample{}, err
		}
		purpose = strings.TrimSpace(rest)
	}
	return Sample{Text: strings.Repeat(text, n), Purpose: purpose}, nil
}

// maxMarks is how many combining marks in a row are ordinary text: Vietnamese and Hebrew use up to three.
const maxMarks = 12

// invisible are the characters that change how others look, or that are not visible themselves.
var invisible = []*unicode.RangeTable{
	unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Other_Default_Ignorable_Code_Point,
	unicode.Variation_Selector, unicode.Noncharacter_Code_Point,
}

// Plain returns an error for a text that is not harmless plain text: one that is not UTF-8, moves the cursor, changes
// the writing direction or has invisible characters. The caller splits the text at line ends.
func Plain(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("not UTF-8: %.200q", text)
	}
	marks, before := 0, ' '
	for i, r := range text {
		if marks++; !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
		}
		picture := r == '\ufe0f' && unicode.Is(unicode.So, before) // the variant drawn as an emoji
		if unicode.In(r, invisible...) && !picture || r == '\u2800' || marks > maxMarks {
			return fmt.Errorf("%U is not harmless: %.200q", r, text[max(0, i-20):])
		}
		before = r
	}
	return nil
}

var (
	forged       = regexp.MustCompile(`<[@#!][^<>]*0EVIL[^<>]*>|<[a-z]+:(//)?[^/<>|]*evil\.example[^<>]*>`) // mentions and links of the corpus
	dateToken    = regexp.MustCompile(`<!date\^[0-9]+\^(\{date_short_pretty\} \{time\}|\{time\}|\{ago\})\|[0-9: -]+ UTC>`)
	mentionToken = regexp.MustCompile(`<(@|!subteam\^)[A-Z0-9]+>`)
	linkToken    = regexp.MustCompile(`<#[A-Z0-9]+>|<https?://[^<>|\s]+\|[A-Za-z ]+>`)
	codeSpan     = regexp.MustCompile("(^|[\\s(\\[{])`[^`\n]*[^`\\s]`")
	boldSpan     = regexp.MustCompile(`(^|[\s(\[{])\*[^*\n]*[^*\s]\*`)
	emoji        = regexp.MustCompile(`:[^\s:|()]+:`)
	formatting   = regexp.MustCompile("[*~`<>]|(^|[^\\pL\\pN])_|_([^\\pL\\pN]|$)")
)

var bareHost = regexp.MustCompile(`[\pL\pN]\.\pL{2}`)

// Unlinked returns an error for a line of a message without blocks in which Slack would find more than Markup allows,
// or make a link of a bare host name.
func Unlinked(line string) error {
	if err := Markup(line); err != nil {
		return err
	}
	if strings.Contains(line, ".") && bareHost.MatchString(withoutCode(withoutTokens(line))) {
		return fmt.Errorf("a link of a bare host name in %.300q", line)
	}
	return nil
}

// withoutTokens is a line without its dates, mentions, channels and links. The regular expressions are slow on long
// lines, so they run only on those that they may match.
func withoutTokens(line string) string {
	if !strings.Contains(line, "<") {
		return line
	}
	line = dateToken.ReplaceAllString(line, "|")
	line = mentionToken.ReplaceAllString(line, "|")
	return linkToken.ReplaceAllString(line, "|")
}

func withoutCode(line string) string {
	if !strings.Contains(line, "`") {
		return line
	}
	return codeSpan.ReplaceAllString(line, "${1}C")
}

// Markup returns an error for a line of markup in which Slack would find more than wafbot's own code, bold, dates,
// mentions, channels and links. It parses as Slack does: tokens, then code, then the rest.
func Markup(line string) error {
	if err := Plain(line); err != nil {
		return err
	}
	if strings.Contains(line, "<") {
		if token := forged.FindString(line); token != "" {
			return fmt.Errorf("a token from the corpus, %s, in %.300q", token, line)
		}
	}
	rest := withoutTokens(line)
	if strings.ContainsAny(rest, "<>") {
		return fmt.Errorf("a token in %.300q", line)
	}
	rest = withoutCode(rest)
	if strings.Contains(rest, "*") {
		rest = boldSpan.ReplaceAllString(rest, "${1}B")
	}
	switch {
	case strings.ContainsAny(rest, "*~`<>_") && formatting.MatchString(rest):
		return fmt.Errorf("formatting in %.300q", line)
	case strings.Count(rest, ":") > 1 && emoji.MatchString(rest):
		return fmt.Errorf("an emoji in %.300q", line)
	case strings.Contains(rest, "://"):
		return fmt.Errorf("a link in %.300q", line)
	case strings.HasPrefix(line, "&gt;"):
		return fmt.Errorf("a quotation: %.300q", line)
	}
	return nil
}

// Blocks returns an error for decoded JSON of Slack blocks or a view that is not harmless: markup that fails Markup or
// in which Slack may create links, plain text in which emoji are drawn, any other string that fails Plain.
func Blocks(doc any) error {
	parts, _ := doc.([]any)
	if o, ok := doc.(map[string]any); ok {
		if err := object(o); err != nil {
			return err
		}
		parts = slices.Collect(maps.Values(o))
	}
	for _, part := range parts {
		if err := Blocks(part); err != nil {
			return err
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

// Lines checks each line of a text.
func Lines(text string, check func(line string) error) error {
	for line := range strings.SplitSeq(text, "\n") {
		if err := check(line); err != nil {
			return err
		}
	}
	return nil
}

// maxLog is the longest log line in bytes: journald takes 48 kB by default, syslog over TCP 8 kB.
const maxLog = 8 << 10

// LogLine returns an error for a log line that is too long or fails Plain.
func LogLine(line string) error {
	if len(line) > maxLog {
		return fmt.Errorf("%d bytes in one line: %.300q", len(line), line)
	}
	return Plain(line)
}
