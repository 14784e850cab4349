package commands

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Here is what the forms of single commands have beyond the description of their arguments.

// The fields of a list entry's form that give its targets.
const (
	fieldSources     = "sources"
	fieldAddresses   = "addresses"
	fieldCountries   = "countries"
	fieldProxies     = "proxies"
	fieldDatacenters = "datacenters"
)

// form gives the targets of an entry a field each kind, with their real values.
func (l listing) form(c *Call, f *Form) {
	fields := []Field{
		{Name: fieldAddresses, Label: "Addresses and ranges", Hint: "as many as you like, with spaces or in lines of their own: 203.0.113.7 198.51.100.0/24", Kind: FieldLines},
		{Name: fieldCountries, Label: "Countries", Kind: FieldMany, Options: countries(), prefix: "country:"},
		{Name: fieldProxies, Label: "Proxies and Tor", Kind: FieldMany, Options: proxyKinds(), prefix: "proxy:"},
		{Name: fieldDatacenters, Label: "Data centers", Hint: "A country, a kind of proxy or a data center is everybody there. wafbot sees attacks, never visitors", Kind: FieldMany, Options: datacenterNames(), prefix: "datacenter:"},
	}
	if sources := c.listedSources(); len(sources) > 0 {
		fields = slices.Insert(fields, 0, Field{Name: fieldSources, Label: "Sources that the service lists", Kind: FieldMany, Options: sources})
	}
	has := c.Line.Words
	if top, ok := c.topSource(); ok && len(has) == 0 {
		has = []string{top.String()}
	}
	for i := range fields {
		fields[i].Arg, fields[i].object, fields[i].list = "target", true, true
		fields[i].Values, has = fields[i].share(has)
	}
	// What the other fields don't offer was typed; it stands where it can be mended.
	i := slices.IndexFunc(fields, func(field Field) bool { return field.Name == fieldAddresses })
	fields[i].Values = []string{strings.Join(has, "\n")}
	at := slices.IndexFunc(f.Fields, func(field Field) bool { return field.Arg == "target" })
	f.Fields = append(slices.Replace(f.Fields, at, at+1, fields[:i+1]...), fields[i+1:]...) // what hits everybody somewhere comes last
	f.oneOf = []string{"target"}
	f.Fields = slices.DeleteFunc(f.Fields, func(field Field) bool { return field.Arg == argAttack.Name })
}

// share takes the words that are among the field's options.
func (f Field) share(words []string) (mine, left []string) {
	for _, w := range words {
		value, ok := strings.CutPrefix(w, f.prefix)
		i := slices.IndexFunc(f.Options, func(o Option) bool { return strings.EqualFold(o.Value, value) })
		if ok && i >= 0 {
			mine = append(mine, f.Options[i].Value)
		} else {
			left = append(left, w)
		}
	}
	return mine, left
}

func (c *Call) topSource() (grammar.Target, bool) {
	if c.Attack == nil {
		return grammar.Target{}, false
	}
	return c.Attack.topSource()
}

// listedSources are the sources of the call's attack, the busiest first, but for those that are never denied.
func (c *Call) listedSources() []Option {
	if c.Attack == nil {
		return nil
	}
	sources := slices.Clone(c.Attack.Sources)
	slices.SortStableFunc(sources, func(x, y apiclient.Source) int { return int(y.Hits.N - x.Hits.N) })
	var options []Option
	for _, s := range sources {
		t, err := grammar.ParseTarget(s.IP.String())
		own, isOwn := c.policy().SourceOf(s.IP)
		if err != nil || isOwn && own.Deny != DenySecond || len(options) == maxOptions {
			continue
		}
		label := strings.TrimSpace(t.String() + " " + text.Sanitize(s.Country, 3))
		if percent, ok := Share(s, c.Attack.Attack); ok {
			label += ", " + Percent(percent)
		}
		if isOwn {
			label += " = " + own.Name
		}
		options = append(options, Option{Value: t.String(), Label: label})
	}
	return options
}

// patchMisses reports whether a patch has neither an attack nor all of what it covers.
func patchMisses(l record.Line) bool {
	if l.Keys["attack"] != "" {
		return false
	}
	return len(l.Words) == 0 || l.Keys["type"] == "" || l.Keys["part"] == ""
}

func patchTypes(*Call) []Option {
	var options []Option
	for _, t := range apiclient.PatchTypes() {
		options = append(options, Option{Value: t, Label: TypeName(t) + " (" + t + ")"})
	}
	return options
}

// patchForm says what an attack's patch covers, and asks for what its record doesn't tell.
func patchForm(c *Call, f *Form) {
	f.require("type", "part")
	if c.Attack == nil {
		f.require("target")
		f.relabel("target", "What", "METHOD HOST/PATH, exactly, as POST shop.example.com/login")
		f.drop("attack")
		return
	}
	spec, why := attackPatch(c.Attack.Attack)
	if why.scope == "" {
		f.Intro = append(f.Intro, text.New("It blocks one type of attack in one part of the requests to exactly ", text.Code(Where(c.Attack.Attack)), ", in every mode but off. What is clean passes"))
		f.drop("target")
	} else {
		f.Intro = append(f.Intro, text.New(strings.ToUpper(why.scope[:1])+why.scope[1:]))
		f.require("target")
		f.relabel("target", "What", "METHOD HOST/PATH, exactly, as POST shop.example.com/login")
	}
	if why.kind == "" {
		f.fill("type", spec.kind)
	} else {
		f.Intro = append(f.Intro, text.New(strings.ToUpper(why.kind[:1])+why.kind[1:]))
	}
	if why.point == "" {
		f.fill("part", spec.point.String())
	}
	if spec.scope.App.Known {
		f.fill("app", strconv.FormatInt(spec.scope.App.N, 10))
	}
}

func markOptions(*Call) []Option {
	return []Option{{Value: markScanner, Label: "taken for a scanner: blocked where the mode blocks"}, {Value: markPatch, Label: "blocked in every mode but off"}}
}

// markChosen is what the form begins with: where the attack gets through, what is only taken for a scanner would, too.
func markChosen(c *Call) string {
	if c.Attack != nil && c.Attack.Status() != apiclient.StatusBlocked {
		return markPatch
	}
	return markScanner
}

// indicatorForm begins with what most attackers' requests share.
func indicatorForm(c *Call, f *Form) {
	f.Title, f.Submit = "Block by header", "Block"
	f.fill("header", "User-Agent")
	f.relabel("regex", "Regular expression", "tried on usual browsers and search engines first, which is said before anything is done")
	f.relabel("type", "What matches is", "")
	if c.Attack != nil {
		f.fill("host", c.Attack.Domain)
	}
}

// handoverForm asks for whom first.
func handoverForm(_ *Call, f *Form) {
	f.Title, f.Submit = "Hand over", "Hand over"
	f.relabel("to", "To", "a responder or an admin")
	slices.SortStableFunc(f.Fields, func(x, y Field) int { return handoverOrder(x) - handoverOrder(y) })
}

func handoverOrder(f Field) int {
	return slices.Index([]string{"account", "attack", "to", "message"}, f.Arg)
}

func modeOptions(*Call) []Option {
	return []Option{
		{Value: apiclient.ModeBlock, Label: "block: attacks are blocked; no incidents are seen"},
		{Value: apiclient.ModeSafeBlocking, Label: "safe_blocking: only graylisted sources are blocked"},
		{Value: apiclient.ModeMonitoring, Label: "monitoring: nothing is blocked, incidents are seen"},
		{Value: apiclient.ModeOff, Label: "off: everything passes, nothing is seen"},
		{Value: apiclient.ModeDefault, Label: "default: as is inherited"},
	}
}

// modeForm says which mode the application is in.
func modeForm(c *Call, f *Form) {
	f.require("mode")
	p := c.Policy
	f.relabel("for", "How long", "left empty: "+text.HumanDuration(p.modeFor(apiclient.ModeBlock))+", for off "+text.HumanDuration(p.modeFor(apiclient.ModeOff)))
	if len(c.Line.Words) == 0 && c.Attack != nil && c.Attack.App.Known {
		f.fill("app", strconv.FormatInt(c.Attack.App.N, 10))
	}
	f.drop("attack")
	app := f.value("app")
	if app == "" || c.Account == nil {
		return
	}
	shown := *c
	shown.Line.Words = []string{app}
	res, err := showMode(&shown)
	if err != nil {
		res.Lines = []text.Text{text.New("The service doesn't tell the present mode just now")}
	}
	f.Intro = append(f.Intro, res.Lines...)
}

func listOptions(*Call) []Option {
	return []Option{
		{Value: apiclient.ListDeny, Label: "denylist"}, {Value: apiclient.ListAllow, Label: "allowlist"}, {Value: apiclient.ListGray, Label: "graylist"},
	}
}

// The ways to mute, of which a form's first field chooses one.
func muteForm(c *Call, f *Form) {
	f.Intro = append(f.Intro, text.New("Incidents are told as ever. What still goes on at the end is told then. Fill in one of the first: an attack, a source or a type"))
	if c.Attack == nil {
		f.oneOf = []string{"attack", "source", "type"}
		return
	}
	f.Base = f.Base.With("attack", "") // it is implied: a source or a type goes before it
	f.Intro[len(f.Intro)-1] = text.New("Incidents are told as ever. What still goes on at the end is told then. Leave the first two empty to mute this attack alone")
	f.drop("app")
	f.relabel("source", "Everything from this address or range instead", "")
	f.relabel("type", "Everything of this type instead", "")
	if top, ok := c.Attack.topSource(); ok {
		f.relabel("source", "Everything from this address or range instead", "as "+top.String()+", its top source")
	}
	f.relabel("type", "Everything of this type instead", "as "+text.Sanitize(c.Attack.Type, text.MaxField))
}

// find is the form's field of an argument; nil if it has none.
func (f *Form) find(arg string) *Field {
	i := slices.IndexFunc(f.Fields, func(field Field) bool { return field.Arg == arg })
	if i < 0 {
		return nil
	}
	return &f.Fields[i]
}

// require makes arguments ones that must be filled in.
func (f *Form) require(args ...string) {
	for _, arg := range args {
		if field := f.find(arg); field != nil {
			field.Required = true
		}
	}
}

// drop takes an argument's field out.
func (f *Form) drop(arg string) {
	f.Fields = slices.DeleteFunc(f.Fields, func(field Field) bool { return field.Arg == arg })
}

func (f *Form) relabel(arg, label, hint string) {
	if field := f.find(arg); field != nil {
		field.Label, field.Hint = label, hint
	}
}

// fill puts a value into an argument's field that is still empty.
func (f *Form) fill(arg, value string) {
	field := f.find(arg)
	if field == nil || len(field.Values) > 0 || value == "" {
		return
	}
	if len(field.Options) > 0 && !slices.ContainsFunc(field.Options, func(o Option) bool { return o.Value == value }) {
		field.Options = append(field.Options, Option{Value: value})
	}
	field.Values = []string{value}
}

func (f *Form) value(arg string) string {
	if field := f.find(arg); field != nil && len(field.Values) > 0 {
		return fmt.Sprint(field.Values[0])
	}
	return ""
}

// misses reports whether a line names no source, and no attack whose top source it could be.
func (l listing) misses(line record.Line) bool {
	return len(line.Words) == 0 && line.Keys["attack"] == ""
}
