package form

import (
	"slices"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Here is what the forms of single commands have beyond the description of their arguments.

// ListForm gives the targets of an entry a field each kind, with their real values.
func ListForm(c *call.Call, f *call.Form) {
	fields := []call.Field{
		{Name: "sources", Label: "Sources that the service lists", Options: listedSources(c)},
		{Name: "addresses", Label: "Addresses and ranges",
			Hint: "as many as you like, with spaces or in lines of their own: 203.0.113.7 198.51.100.0/24"},
		{Name: "countries", Label: "Countries", Options: countries(), Prefix: "country:"},
		{Name: "proxies", Label: "Proxies and Tor", Options: named(grammar.Proxies), Prefix: "proxy:"},
		{Name: "datacenters", Label: "Data centers", Options: named(grammar.Datacenters), Prefix: "datacenter:",
			Hint: "A country, a kind of proxy or a data center is everybody there. wafbot sees attacks, never visitors"},
	}
	has := c.Line.Words
	if len(has) == 0 && c.Attack != nil {
		if top, ok := call.TopTarget(c.Attack); ok {
			has = []string{top.String()}
		}
	}
	for i := range fields {
		fields[i].Arg, fields[i].Object, fields[i].List, fields[i].Kind = "target", true, true, call.FieldMany
		fields[i].Values, has = fields[i].Share(has)
	}
	// What the other fields don't offer was typed; it stands where it can be edited.
	fields[1].Kind, fields[1].Values = call.FieldLines, []string{strings.Join(has, "\n")}
	if len(fields[0].Options) == 0 {
		fields = fields[1:]
	}
	at := slices.IndexFunc(f.Fields, func(field call.Field) bool { return field.Arg == "target" })
	everybody := len(fields) - 3 // what hits everybody somewhere comes last
	f.Fields = append(slices.Replace(f.Fields, at, at+1, fields[:everybody]...), fields[everybody:]...)
	f.OneOf = []string{"target"}
	f.Drop("attack")
}

// listedSources are the sources of the call's attack, the busiest first, but for those that are never denied.
func listedSources(c *call.Call) []call.Option {
	if c.Attack == nil {
		return nil
	}
	sources := slices.Clone(c.Attack.Sources)
	slices.SortStableFunc(sources, func(x, y apiclient.Source) int { return int(y.Hits.N - x.Hits.N) })
	var options []call.Option
	for _, s := range sources {
		t := grammar.RangeOf(s.Range())
		own, isOwn := c.PolicyNow().SourceOf(s)
		if isOwn && own.Deny != config.DenyApproval || len(options) == maxOptions {
			continue
		}
		label := strings.TrimSpace(t.String() + " " + text.Sanitize(s.Country, 3))
		if percent, ok := words.Share(s, c.Attack.Attack); ok {
			label += ", " + words.Percent(percent)
		}
		if isOwn {
			label += " = " + own.Name
		}
		options = append(options, option(t.String(), label))
	}
	return options
}

// PatchMisses reports whether a patch has neither an attack nor all of what it covers.
func PatchMisses(l record.Line) bool {
	if l.Keys["attack"] != "" {
		return false
	}
	return len(l.Words) == 0 || l.Keys["type"] == "" || l.Keys["part"] == ""
}

// PatchTypes are the attack types that can be patched, and any.
func PatchTypes(*call.Call) (options []call.Option) {
	for _, t := range apiclient.PatchTypes() {
		options = append(options, option(t, words.TypeName(t)+" ("+t+")"))
	}
	return append(options, option(words.AnyAttack, "any: every request that has the part, clean ones too"))
}

// placeHint says how a place is written.
const placeHint = "METHOD HOST/PATH, as POST shop.example.com/login; without HOST every host. /x/*.* is one level below /x/, /x/**/*.* everything below"

// PatchForm says what an attack's patch covers, and asks for what its record doesn't hold.
func PatchForm(c *call.Call, f *call.Form) {
	f.Require("type", "part")
	if c.Attack == nil {
		f.Require("target")
		f.Relabel("target", "What", placeHint)
		f.Drop("attack")
		return
	}
	spec, why := change.PatchFor(c.Attack.Attack)
	if why.Scope == "" {
		f.Intro.Addf("It blocks one type of attack in one part of the requests to exactly `%v`, in every mode but off. "+
			"What is clean passes", words.Where(c.Attack.Attack))
		f.Drop("target")
	} else {
		f.Intro.Add(strings.ToUpper(why.Scope[:1]) + why.Scope[1:])
		f.Require("target")
		f.Relabel("target", "What", placeHint)
	}
	if why.Kind == "" {
		f.Fill("type", spec.Kind)
	} else {
		f.Intro.Add(strings.ToUpper(why.Kind[:1]) + why.Kind[1:])
	}
	if why.Point == "" {
		f.Fill("part", spec.Point.String())
	}
	if spec.Scope.App.Known {
		f.Fill("app", strconv.FormatInt(spec.Scope.App.N, 10))
	}
}

// MarkChosen is what the form begins with: where the attack gets through, what is only taken for a scanner would, too.
func MarkChosen(c *call.Call) string {
	if c.Attack != nil && c.Attack.Status() != apiclient.StatusBlocked {
		return change.MarkPatch
	}
	return change.MarkScanner
}

// IndicatorForm begins with what most attackers' requests share.
func IndicatorForm(c *call.Call, f *call.Form) {
	f.Title, f.Submit = "Block by header", "Block"
	f.Fill("header", "User-Agent")
	f.Relabel("regex", "Regular expression", "wafbot tries what it can on usual browsers first, and says so; anything else needs approval")
	f.Relabel("type", "What matches is", "")
	if c.Attack != nil {
		f.Fill("host", c.Attack.Domain)
	}
}

// HandoverForm asks for the user first.
func HandoverForm(_ *call.Call, f *call.Form) {
	f.Title, f.Submit = "Hand over", "Hand over"
	f.Relabel("to", "To", "a responder or an admin")
	place := func(f call.Field) int { return slices.Index([]string{"account", "attack", "to", "message"}, f.Arg) }
	slices.SortStableFunc(f.Fields, func(x, y call.Field) int { return place(x) - place(y) })
}

// ModeForm says which mode the application is in.
func ModeForm(c *call.Call, f *call.Form) {
	f.Require("mode")
	if p := c.Policy; c.Account != nil {
		f.Relabel("for", "How long", "left empty: "+text.Duration(p.ModeFor(apiclient.ModeBlock))+", for off "+text.Duration(p.ModeFor(apiclient.ModeOff)))
	}
	if len(c.Line.Words) == 0 && c.Attack != nil && c.Attack.App.Known {
		f.Fill("app", strconv.FormatInt(c.Attack.App.N, 10))
	}
	f.Drop("attack")
	app := f.Value("app")
	if app == "" || c.Account == nil {
		return
	}
	shown := *c
	shown.Line.Words = []string{app}
	res, err := report.ShowMode(&shown)
	if err != nil {
		res.Lines.Add("The service doesn't say the present mode just now")
	}
	f.Intro = append(f.Intro, res.Lines...)
}

// MuteForm asks for an attack, a source or a type.
func MuteForm(c *call.Call, f *call.Form) {
	if c.Attack == nil {
		f.Intro.Add("Incidents are posted all the same. What still goes on at the end is posted then. " +
			"Fill in one of the first: an attack, a source or a type")
		f.OneOf = []string{"attack", "source", "type"}
		return
	}
	f.Intro.Add("Incidents are posted all the same. What still goes on at the end is posted then. " +
		"Leave the first two empty to mute this attack alone")
	f.Base = f.Base.With("attack", "") // it is implied: a source or a type goes before it
	f.Drop("app")
	hint := ""
	if top, ok := call.TopTarget(c.Attack); ok {
		hint = "as " + top.String() + ", its top source"
	}
	f.Relabel("source", "Everything from this address or range instead", hint)
	f.Relabel("type", "Everything of this type instead", "as "+text.Field(c.Attack.Type))
}
