package verb

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxRegex is how long an indicator's regular expression may be, in bytes.
const maxRegex = 500

// readHeader takes a header's name as the service writes it: in capitals.
func readHeader(value string, _ *config.Account) (string, error) {
	point, err := apiclient.ParsePoint(apiclient.Point{{"header", value}}.String())
	if err != nil {
		return "", refusal.Invalid("header", value, "User-Agent")
	}
	name := fmt.Sprint(point[0][1])
	if name == "HOST" {
		return "", refusal.Invalid("header", value, "User-Agent",
			"Every request has a Host: name another header, and the host by ", text.Code("host="))
	}
	return name, nil
}

func readPath(value string, _ *config.Account) (string, error) {
	path, err := apiclient.CleanPath(value)
	if err == nil {
		_, err = apiclient.ParsePath(path)
	}
	if err != nil {
		return "", refusal.Invalid("path", value, "/login", text.Sanitize(err.Error(), 300))
	}
	return value, nil // the plan says what it comes to
}

func readHost(value string, _ *config.Account) (string, error) { return strings.ToLower(value), nil }

func readRegex(value string, _ *config.Account) (string, error) {
	if len(value) > maxRegex {
		return "", refusal.Usage("Invalid regular expression: over %v bytes long", maxRegex)
	}
	if _, err := scanRegex(value); err != nil {
		return "", refusal.Invalid("regular expression", value, "sqlmap/1[.][0-9]", text.Sanitize(err.Error(), 200))
	}
	return value, nil
}

func planIndicator(c *call.Call) ([]call.Plan, error) {
	header, regex, keys := c.Line.Words[0], c.Line.Words[1], c.Line.Keys
	length, err := change.Length(c, keys["for"], c.Policy.IndicatorFor())
	if err != nil {
		return nil, err
	}
	if keys["host"] == "" {
		approval.Need(c, config.ApproveRulesEverywhere, text.Newf("without `host=` it holds for every host"))
	}
	scope, warnings, err := change.Place(keys["host"], keys["path"])
	if err != nil {
		return nil, change.Unsaid(err)
	}
	conditions, err := apiclient.ScopeConditions(scope)
	if err != nil {
		return nil, change.Unsaid(err)
	}
	rule := apiclient.Rule{Type: apiclient.RuleRegex, Conditions: conditions, Point: apiclient.Point{{"header", header}},
		Regex: regex, AttackType: change.MarkScanner}
	verb := "Take for a scanner"
	if keys["type"] == change.MarkPatch {
		rule.AttackType, verb = change.MarkPatch, "Block"
	}
	what := fmt.Sprintf("requests %s whose %s matches %s", words.Scope(c.Account, conditions), header,
		text.Sanitize(regex, text.MaxPath))
	line := record.Line{Name: "indicator", Words: c.Line.Words}.With("type", rule.AttackType).With("host",
		scope.Host).With("path", apiclient.EncodePath(scope.Path))
	p := change.ForTime(c, line, verb+" "+what, length)
	p.Warnings, p.Notes = indicatorEffect(c, header, regex, rule.AttackType)
	p.Warnings = append(p.Warnings, warnings...)
	p.Notes = append(p.Notes, change.PathNotes(scope)...)
	change.WarnCannotBlock(c, &p, nil)
	return one(change.PlanRule(c, p, rule, what+": there is an indicator"))
}

// indicatorEffect says what an indicator does to the requests that match, and which usual ones do. It warns where these
// do. Where wafbot can't know, another person must agree: every browser sends Accept or Cookie, too.
func indicatorEffect(c *call.Call, header, regex, mark string) (ws refusal.Warnings, notes text.Lines) {
	if mark == change.MarkPatch {
		ws.Addf("it blocks what matches in every mode but off")
	} else {
		notes.Add("What matches is blocked only where the mode blocks")
	}
	match := tryRegex(regex)
	if match == nil {
		ws.Addf("wafbot can't try it on usual browsers and search engines: only the service understands it")
		approval.Need(c, config.ApproveIndicatorUntried, text.New("nobody has tried whom it hits"))
		return ws, notes
	}
	words, broad := trial(header, match)
	if header != userAgent {
		approval.Need(c, config.ApproveIndicatorUntried, text.New("nobody has tried whom it hits"))
	}
	if broad || header != userAgent {
		ws.Addf("%v", words)
	} else {
		notes.Add(words)
	}
	return ws, notes
}

// userAgent is the one header whose usual values wafbot knows.
const userAgent = "USER-AGENT"

// browser is a usual client, which an indicator should rarely hit.
type browser struct{ name, agent string }

// usualBrowsers are the ones that most people and the search engines come with.
func usualBrowsers() []browser {
	const (
		windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64"
		mac     = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7"
		webkit  = ") AppleWebKit/537.36 (KHTML, like Gecko) "
		chrome  = webkit + "Chrome/150.0.0.0 Safari/537.36"
		iphone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
	)
	return []browser{
		{"Chrome on Windows", windows + chrome},
		{"Edge on Windows", windows + chrome + " Edg/150.0.0.0"},
		{"Firefox on Windows", windows + "; rv:150.0) Gecko/20100101 Firefox/150.0"},
		{"Chrome on macOS", mac + chrome},
		{"Safari on macOS", mac + ") AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15"},
		{"Chrome on Linux", "Mozilla/5.0 (X11; Linux x86_64" + chrome},
		{"Firefox on Linux", "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0"},
		{"Chrome on Android", "Mozilla/5.0 (Linux; Android 10; K" + webkit + "Chrome/150.0.0.0 Mobile Safari/537.36"},
		{"Firefox on Android", "Mozilla/5.0 (Android 16; Mobile; rv:150.0) Gecko/150.0 Firefox/150.0"},
		{"Safari on iOS", iphone + "Version/26.0 Mobile/15E148 Safari/604.1"},
		{"Googlebot", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"},
		{"bingbot", "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"},
	}
}

// trial says what a regular expression matches of what comes every day, and whether it matches any of it. Of a header
// other than User-Agent wafbot knows no usual values: there it only says how broad the expression is.
func trial(header string, match func(string) bool) (words text.Text, broad bool) {
	var hits []string
	browsers := usualBrowsers()
	for _, b := range browsers {
		if match(b.agent) {
			hits = append(hits, b.name)
		}
	}
	empty := match("") // also an empty header
	subject, who := text.New("it would hit "), fmt.Sprintf("%d usual browsers and search engines", len(browsers))
	if header != userAgent {
		subject = text.Newf("wafbot knows no usual values of `%v`, and tried it on the User-Agents of browsers and search engines: it matches ", header)
		who = fmt.Sprint(len(browsers))
	}
	switch {
	case empty && len(hits) == len(browsers):
		return text.Newf("it matches *everything*, even an empty header"), true
	case empty && len(hits) == 0:
		return text.Newf("%van empty %v, and none of %v", subject, header, who), true
	case len(hits) == 0:
		return text.New(subject, "none of ", who), false
	}
	found := text.Newf("%v*%v of %v*, as %v", subject, len(hits), who, hits[0])
	if empty {
		found.Add(", and an empty header")
	}
	return found, true
}

// repetitions are the bounds that the service takes in braces.
var repetitions = regexp.MustCompile(`^(0|[1-9][0-9]?|100)(,(0|[1-9][0-9]?|100)?)?$`)

// scanRegex checks a regular expression against what is public about the service's dialect, Pire. Its errors say what
// the dialect lacks, and how to write it. alike reports whether Go reads it alike: there is no & or ~, nothing but
// ASCII, and no way through it passes two anchors that could stand at the same place. There Pire wants two places, and
// Go is content with one.
func scanRegex(pattern string) (alike bool, err error) {
	if !utf8.ValidString(pattern) {
		return false, errors.New("it isn't UTF-8")
	}
	alike = strings.IndexFunc(pattern, func(r rune) bool { return r > unicode.MaxASCII }) < 0
	open, anchors := 0, ""
	bare, repeated := true, false // nothing to repeat stands before; a repetition does
	for i := 0; i < len(pattern); i++ {
		c, rest, before := pattern[i], pattern[i+1:], pattern[max(i-1, 0)]
		wasBare, wasRepeated := bare, repeated
		bare, repeated = strings.IndexByte("(|&~", c) >= 0, false
		switch c {
		case '\\':
			return false, backslash(rest)
		case '(':
			if strings.HasPrefix(rest, "?") {
				return false, errors.New("(? isn't understood: groups begin with ( alone, and there is no look-around")
			}
			open++
		case ')':
			if open--; open < 0 {
				return false, errors.New("a closing ) has no opening one; as a character write [)]")
			}
		case '|':
			if open == 0 {
				anchors = ""
			}
		case '&':
			alike = false
		case '~':
			if alike = false; i > 0 && strings.IndexByte("(|&", before) < 0 {
				return false, errors.New("~ negates all that follows in its group: put it first, as in a(~b)")
			}
		case '[':
			n, err := classLength(rest)
			if err != nil {
				return false, err
			}
			i += n
		case '^', '$':
			if strings.IndexByte(anchors, c) >= 0 || c == '^' && anchors != "" || open > 0 && strings.Contains(pattern, "{") {
				alike = false
			}
			anchors += string(c)
		case '*', '+', '?', '{':
			switch {
			case wasBare:
				return false, fmt.Errorf("there is nothing before %c to repeat; as a character write [%c]", c, c)
			case wasRepeated && c == '?':
				return false, errors.New("a ? behind a repetition isn't understood: every match counts, however long it is. Leave it out")
			}
			alike, repeated = alike && before != '^' && before != '$', true
			if c == '{' {
				written, _, closed := strings.Cut(rest, "}")
				if !closed {
					return false, errors.New("a { has no closing }; as a character write [{]")
				}
				from, to, _ := strings.Cut(written, ",")
				least, _ := strconv.Atoi(from)
				if most, err := strconv.Atoi(to); !repetitions.MatchString(written) || err == nil && most < least {
					return false, fmt.Errorf("{%s} is no number of repetitions up to 100: write {2}, {2,} or {2,5}", written)
				}
				i += len(written) + 1
			}
		}
	}
	if open > 0 {
		return false, errors.New("a closing ) is missing; as a character write [(]")
	}
	return alike, nil
}

// classLength is how long a class is whose [ was read.
func classLength(rest string) (int, error) {
	start := len(rest) - len(strings.TrimPrefix(rest, "^"))
	for i := start; i < len(rest); {
		switch {
		case rest[i] == ']' && i == start:
			return 0, errors.New("[] holds no character")
		case rest[i] == ']':
			return i + 1, nil
		case strings.HasPrefix(rest[i:], "[:"):
			return 0, errors.New("[: isn't understood: write the range, as [0-9]")
		}
		from, size := utf8.DecodeRuneInString(rest[i:])
		i += size
		to := from
		if behind, is := strings.CutPrefix(rest[i:], "-"); from != '\\' && is && behind != "" && behind[0] != ']' {
			to, size = utf8.DecodeRuneInString(behind)
			i += 1 + size
		}
		switch {
		case from == '\\' || to == '\\':
			return 0, backslash(rest[i:])
		case to < from:
			return 0, fmt.Errorf("the range %c-%c ends before it begins", from, to)
		}
	}
	return 0, errors.New("a closing ] is missing; as a character write [[]")
}

// backslash says how to write what a backslash can't: the service's dialect has none.
func backslash(rest string) error {
	next, _ := utf8.DecodeRuneInString(rest)
	instead := map[rune]string{
		'd': "[0-9]", 'D': "[^0-9]", 'w': "[A-Za-z0-9_]", 'W': "[^A-Za-z0-9_]", 's': "[ ]", 'S': "[^ ]", 'h': "[ ]",
	}[next]
	switch {
	case instead != "":
		return fmt.Errorf("\\%c isn't understood: write %s", next, instead)
	case next == 'b' || next == 'B':
		return fmt.Errorf("\\%c isn't understood: name what stands before and behind, as (^|[ ])", next)
	case rest != "" && (unicode.IsPunct(next) || unicode.IsSymbol(next)):
		return fmt.Errorf("\\%c isn't understood everywhere: write [%c]", next, next)
	case next >= '1' && next <= '9':
		return fmt.Errorf("\\%c isn't understood: there are no back-references", next)
	}
	return errors.New("a backslash isn't understood: write the character itself")
}

// tryRegex matches texts as the service does, whether or not it goes by case, which it doesn't say; nil: Go reads the
// pattern otherwise.
func tryRegex(pattern string) func(text string) bool {
	if alike, err := scanRegex(pattern); err != nil || !alike {
		return nil
	}
	exact, err := regexp.Compile("(?s)" + pattern)
	if err != nil {
		return nil
	}
	folded, err := regexp.Compile("(?is)" + pattern)
	if err != nil {
		return nil
	}
	return func(text string) bool { return exact.MatchString(text) || folded.MatchString(text) }
}
