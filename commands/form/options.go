package form

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How many choices a form offers in one field, and how many applications: with more than these one is typed.
const (
	maxOptions = 100
	maxApps    = 1000
)

// option is a choice.
func option(value, label string) call.Option { return call.Option{Value: value, Label: label} }

// choice offers values, each with its label behind it.
func choice(labelled ...string) func(*call.Call) []call.Option {
	return func(*call.Call) (options []call.Option) {
		for pair := range slices.Chunk(labelled, 2) {
			options = append(options, option(pair[0], pair[1]))
		}
		return options
	}
}

// The options of arguments with a fixed set of values.
var (
	Verdicts = choice("real", "real", "false_positive", "false positive", "test", "test")
	Lists    = choice(apiclient.ListDeny, "denylist", apiclient.ListAllow, "allowlist", apiclient.ListGray, "graylist")
	Modes    = choice(
		apiclient.ModeBlock, "block: attacks are blocked; no incidents are seen",
		apiclient.ModeSafeBlocking, "safe_blocking: only graylisted sources are blocked",
		apiclient.ModeMonitoring, "monitoring: nothing is blocked, incidents are seen",
		apiclient.ModeOff, "off: everything passes, nothing is seen",
		apiclient.ModeDefault, "default: as is inherited",
	)
	Marks = choice( // what an indicator makes of what matches
		change.MarkScanner, "taken for a scanner: blocked where the mode blocks",
		change.MarkPatch, "blocked in every mode but off",
	)
)

// Lengths are how long a mitigation can last: usual durations, none longer than allowed.
func Lengths(c *call.Call) []call.Option {
	var options []call.Option
	for _, d := range []time.Duration{
		15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour,
		24 * time.Hour,
		3 * 24 * time.Hour, 7 * 24 * time.Hour, 14 * 24 * time.Hour, 30 * 24 * time.Hour,
	} {
		if d <= c.Policy.LongestDuration {
			options = append(options, option(grammar.DurationText(d), text.Duration(d)))
		}
	}
	return options
}

// LengthsOrEver are Lengths, and forever.
func LengthsOrEver(c *call.Call) []call.Option {
	label := "forever"
	if slices.Contains(c.Policy.Approval.RequiredFor, config.ApproveForever) {
		label = "forever: needs approval"
	}
	return append(Lengths(c), option(grammar.DurationText(grammar.Never), label))
}

// ConfiguredApps are the applications that the configuration names; none without an account, or if they are too many.
func ConfiguredApps(c *call.Call) []call.Option {
	if c.Account == nil || len(c.Account.Applications) > maxApps {
		return nil
	}
	var options []call.Option
	for _, id := range slices.Sorted(maps.Keys(c.Account.Applications)) {
		options = append(options, option(strconv.Itoa(id), c.Account.AppName(apiclient.Known(int64(id)))))
	}
	return options
}

// ModeApps are what has a mode: the applications, where the configuration names them, and the account itself.
func ModeApps(c *call.Call) []call.Option {
	apps := ConfiguredApps(c)
	if len(apps) == 0 {
		return nil
	}
	return append(apps, option(call.AccountMode, "account: "+words.ModeApp(c.Account, apiclient.AllApps)))
}

// listed are options of one of the account's lists; none without an account, or where the list can't be read. option
// also reports whether one can be chosen.
func listed[T any](all []T, option func(one T) (call.Option, bool)) (options []call.Option) {
	for _, one := range all {
		if o, ok := option(one); ok && len(options) < maxOptions {
			options = append(options, o)
		}
	}
	return options
}

// OngoingAttacks are the attacks that go on, as they were last seen, the most urgent first.
func OngoingAttacks(c *call.Call) []call.Option {
	known := c.Facts.Stored.Value
	ids := slices.SortedFunc(maps.Keys(known), func(x, y string) int {
		return cmp.Or(words.WorstFirst(known[x], known[y]), cmp.Compare(x, y))
	})
	return listed(ids, func(id string) (call.Option, bool) {
		what := words.TypeName(text.Field(known[id].Type))
		if record.IsStorm(known[id].ID) {
			what = "storm"
		}
		return option(id, fmt.Sprintf("%s %s: %s", id, what, words.Where(known[id]))),
			c.Ongoing(known[id]) && !known[id].Result()
	})
}

// ChangesInForce are wafbot's changes that can be extended or undone.
func ChangesInForce(c *call.Call) []call.Option {
	all := c.Facts.Changes.Value
	return listed(all, func(ch record.Change) (call.Option, bool) {
		return option(ch.ID, ch.ID+" "+ch.Does), ch.InForce(c.Now) && ch.Parent() == "" && !efficacy.Superseded(ch, all)
	})
}

// WaitingRequests are the approval requests that can be decided.
func WaitingRequests(c *call.Call) []call.Option {
	return listed(c.Facts.Approvals.Value, func(q record.ApprovalRequest) (call.Option, bool) {
		return option(q.ID, q.ID+" "+q.Does), q.Waits(c.Now)
	})
}

// StormsGrouped are the storms that are stored, for the field that asks for one.
func StormsGrouped(c *call.Call) []call.Option {
	return listed(c.Facts.Storms.Value, func(s record.StormSeen) (call.Option, bool) {
		on := text.Field(words.Applications(s.Storm, c.Account))
		return option(s.ID, s.ID+" storm on "+on+": "+text.Count(s.Storm.Grouped, "attack")), true
	})
}

// countries are all that ISO 3166 lists, under the letter that their names begin with: a field of a form holds a
// hundred without headings.
func countries() (options []call.Option) {
	regions := display.English.Regions()
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			if code := string([]rune{a, b}); grammar.IsCountry(code) {
				name := cmp.Or(regions.Name(language.MustParseRegion(code)), code)
				options = append(options, option(code, name+" ("+code+")"))
			}
		}
	}
	slices.SortFunc(options, func(x, y call.Option) int { return cmp.Compare(x.Label, y.Label) })
	for i := range options {
		if options[i].Group = string([]rune(options[i].Label)[:1]); options[i].Group > "Z" { // as Åland
			options[i].Group = "Å"
		}
	}
	return options
}

// names are what people call the proxies and the data centers that the service knows.
var names = map[string]string{
	"VPN": "VPN services", "SES": "search engines' robots", "PUB": "public proxies", "WEB": "web proxies",
	"TOR": "Tor exits",

	"rackspace": "Rackspace", "tencent": "Tencent Cloud", "plusserver": "PlusServer", "ovh": "OVH",
	"oracle": "Oracle Cloud", "linode": "Linode", "ibm": "IBM Cloud", "huawei": "Huawei Cloud", "hetzner": "Hetzner",
	"gce": "Google Cloud", "azure": "Microsoft Azure", "aws": "Amazon Web Services", "alibaba": "Alibaba Cloud",
}

func named(values []string) (options []call.Option) {
	for _, v := range values {
		options = append(options, option(v, names[v]+" ("+v+")"))
	}
	slices.SortFunc(options, func(x, y call.Option) int {
		return cmp.Compare(strings.ToLower(x.Label), strings.ToLower(y.Label))
	})
	return options
}
