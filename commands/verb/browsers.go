package verb

import (
	"fmt"
	"regexp"

	"github.com/wafbot/wafbot/internal/text"
)

// userAgent is the header of which wafbot knows usual values.
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

// trial is what a regular expression matches of what comes every day.
type trial struct {
	hits  []string // browsers and search engines by name
	tried int
	empty bool // also an empty header
}

func tryRegex(regex *regexp.Regexp) trial {
	t := trial{empty: regex.MatchString("")}
	for _, b := range usualBrowsers() {
		t.tried++
		if regex.MatchString(b.agent) {
			t.hits = append(t.hits, b.name)
		}
	}
	return t
}

// broad reports whether it matches what comes every day.
func (t trial) broad() bool { return t.empty || len(t.hits) > 0 }

// words say what the trial found. Of a header other than User-Agent wafbot knows no usual values: there it only says how broad the expression is.
func (t trial) words(header string) text.Text {
	who := fmt.Sprintf("%d usual browsers and search engines", t.tried)
	subject := text.New("it would hit ")
	if header != userAgent {
		subject = text.New("wafbot knows no usual values of ", text.Code(header), ", and tried it on the User-Agents of browsers and search engines: it matches ")
		who = fmt.Sprintf("%d", t.tried)
	}
	switch {
	case t.empty && len(t.hits) == t.tried:
		return text.New("it matches ", text.Bold("everything"), ", even an empty header")
	case t.empty && len(t.hits) == 0:
		return text.New(subject, "an empty ", header, ", and none of ", who)
	case len(t.hits) == 0:
		return text.New(subject, "none of ", who)
	}
	found := text.New(subject, text.Bold(fmt.Sprintf("%d of %s", len(t.hits), who)), ", as ", t.hits[0])
	if t.empty {
		found = text.New(found, ", and an empty header")
	}
	return found
}
