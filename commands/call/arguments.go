package call

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Arg describes an argument: enough to check it, to explain it and to draw its field of a form.
type Arg struct {
	Name     string
	Object   bool // written without its name
	Many     bool // an object that may be repeated
	Rest     bool // an object that takes all words that are left, as one text
	Required bool
	Typed    bool // an attack that is only meant where it is written, not by the place where the line is
	Help     string
	// Bare reports whether a word without the argument's name is meant for it; nil: none is.
	Bare func(word string) bool
	// Read checks a value and brings it into its canonical form, so that equal lines read equal. It may be nil: any text.
	Read func(value string, a *config.Account) (string, error)

	Label   string                 // of its field; "": its name
	Kind    FieldKind              // of its field; "": FieldText, or a choice where there are options
	Options func(c *Call) []Option // what its field offers; nil, or none: any text
	Needs   func(n *Needs)         // adds those of Options; nil: there are none
	Default func(c *Call) string   // what holds when it is left out; nil: nothing does
}

// ReadDuration takes a duration, as 4h or forever.
func ReadDuration(value string, _ *config.Account) (string, error) {
	d, err := grammar.ParseDuration(value)
	return grammar.DurationText(d), err
}

// ReadTarget takes a source: an address, a range, or country:, proxy: or datacenter: and a name.
func ReadTarget(value string, _ *config.Account) (string, error) {
	t, err := grammar.ParseTarget(value)
	return t.String(), err
}

// ReadRange takes an address, or a range of addresses.
func ReadRange(value string, _ *config.Account) (string, error) {
	t, err := grammar.ParseRange(value)
	return t.String(), err
}

// ReadNumber takes the number that the service gave a rule or a set of conditions.
func ReadNumber(value string, _ *config.Account) (string, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n <= 0 {
		return "", refusal.Invalid("number", value, "5001", text.Code("rules"), " and ", text.Code("conditions"),
			" list them")
	}
	return strconv.FormatInt(n, 10), nil
}

// ReadApp takes an application's id, its configured name, or app:default.
func ReadApp(value string, a *config.Account) (string, error) {
	id, err := App(a, value)
	return strconv.Itoa(id), err
}

// AccountMode is how a line names the account's own mode, which all applications have that have none of their own.
const AccountMode = "account"

// ReadModeApp takes what ReadApp does, or AccountMode. An application of that name is written by its number.
func ReadModeApp(value string, a *config.Account) (string, error) {
	if strings.EqualFold(value, AccountMode) {
		return AccountMode, nil
	}
	return ReadApp(value, a)
}

// ModeApp is the application whose mode a line names; apiclient.AllApps for AccountMode.
func ModeApp(word string) (int, error) {
	if word == AccountMode {
		return apiclient.AllApps, nil
	}
	return strconv.Atoi(word)
}

// ReadApps takes several applications, with commas between them.
func ReadApps(value string, a *config.Account) (string, error) {
	var ids []string
	var err error
	for name := range strings.SplitSeq(value, ",") {
		id, failed := ReadApp(strings.TrimSpace(name), a)
		ids, err = append(ids, id), cmp.Or(err, failed)
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), ","), err
}

// OneOf makes a reader that takes the given words for what it is, in any case and with either dash.
func OneOf(what string, words ...string) func(string, *config.Account) (string, error) {
	return func(value string, _ *config.Account) (string, error) {
		typed := strings.ReplaceAll(value, "-", "_")
		for _, w := range words {
			if strings.EqualFold(w, typed) {
				return w, nil
			}
		}
		return "", refusal.Invalid(what, value, words[0], "One of ", strings.Join(words, ", "))
	}
}

// ReadList takes one of the service's lists by any of its names.
func ReadList(value string, _ *config.Account) (string, error) {
	switch strings.ToLower(value) {
	case "black", "deny", "denylist", "blacklist":
		return apiclient.ListDeny, nil
	case "white", "allow", "allowlist", "whitelist":
		return apiclient.ListAllow, nil
	case "gray", "grey", "graylist":
		return apiclient.ListGray, nil
	}
	return "", refusal.Invalid("list", value, "black", "One of black, white, gray")
}

// Check holds a line against the command's arguments and gives it back in canonical form.
func (c *Command) Check(l record.Line, a *config.Account) (out record.Line, err error) {
	out = record.Line{Name: c.Name, Flags: l.Flags}
	for _, f := range l.Flags {
		if !slices.Contains(c.Flags, f) {
			return out, c.Misuse("Unknown option: %v", refusal.Typed("--"+f))
		}
	}
	keyed := map[string]Arg{}
	for _, arg := range c.Args {
		if !arg.Object {
			keyed[arg.Name] = arg
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.Keys)) {
		arg, ok := keyed[key]
		if !ok {
			return out, c.Misuse("Unknown argument: %v%v", refusal.Typed(key+"="),
				grammar.Hint(key, append(slices.Sorted(maps.Keys(keyed)), "account")))
		}
		value, err := arg.Parse(l.Keys[key], a)
		if err != nil {
			return out, refusal.About(refusal.InLine(err, key+"="), key, l.Keys[key])
		}
		out = out.With(key, value)
	}
	if out.Words, err = c.objects(l.Words, a); err != nil {
		return out, err
	}
	for _, arg := range c.Args {
		if arg.Required && !arg.Object && out.Keys[arg.Name] == "" {
			return out, refusal.About(c.Misuse("Missing: `%v=`, %v", arg.Name, arg.Help), arg.Name, "")
		}
	}
	return out, nil
}

func (c *Command) objects(words []string, a *config.Account) (out []string, err error) {
	for _, arg := range c.Args {
		if !arg.Object {
			continue
		}
		if arg.Rest && len(words) > 0 {
			words = []string{strings.Join(words, " ")}
		}
		n := min(1, len(words))
		if arg.Many {
			n = len(words)
		}
		if n == 0 && arg.Required {
			return nil, refusal.About(c.Misuse("Missing: %v, %v", arg.Name, arg.Help), arg.Name, "")
		}
		for _, w := range words[:n] {
			value, err := arg.Parse(w, a)
			if err != nil {
				before := record.Line{Name: c.Name, Words: out}
				if arg.Many {
					before.Words = nil
				}
				return nil, refusal.About(refusal.InLine(err, before.String()+" "), arg.Name, w)
			}
			if !slices.Contains(out, value) || !arg.Many {
				out = append(out, value)
			}
		}
		words = words[n:]
	}
	if len(words) > 0 {
		return nil, c.Misuse("One word too many: %v%v", refusal.Typed(words[0]), c.attackMeant(words[0]))
	}
	return out, nil
}

// attackMeant is a hint where a word is an attack's id that lacks its name.
func (c *Command) attackMeant(word string) text.Text {
	if arg, ok := c.AttackArg(); ok && !arg.Object && record.IsAttackID(word) {
		return text.Newf(" (did you mean `attack=%v`?)", word)
	}
	return nil
}

// Parse checks a value of the argument and gives its canonical form.
func (arg Arg) Parse(value string, a *config.Account) (string, error) {
	if value == "" {
		return "", refusal.Usage("Empty: `%v`, %v", arg.Name, arg.Help)
	}
	if arg.Read == nil {
		return value, nil
	}
	return arg.Read(value, a)
}

// Misuse is a usage error that ends with an example, or with how the command is written.
func (c *Command) Misuse(s text.Sentence, values ...any) error {
	what := text.Newf(s, values...)
	how := text.Newf("Usage: `%v`", c.Usage())
	if c.Example != "" {
		how = text.Newf("Example: `%v`", c.Example)
	}
	return &refusal.Refusal{Kind: refusal.ErrUsage, Text: text.New(what, ". ", how), Brief: what}
}

// Usage is the command's line in the grammar, as deny TARGET… [for=…] [app=…].
func (c *Command) Usage() string {
	var b strings.Builder
	b.WriteString(c.Name)
	for _, arg := range c.Args {
		word := arg.Name + "=…"
		if arg.Object {
			word = strings.ToUpper(arg.Name)
		}
		if arg.Many || arg.Rest {
			word += "…"
		}
		if !arg.Required {
			word = "[" + word + "]"
		}
		fmt.Fprintf(&b, " %s", word)
	}
	for _, f := range c.Flags {
		fmt.Fprintf(&b, " [--%s]", f)
	}
	return b.String()
}

// AttackNamed is what a line names as its attack: its attack= key, or its object where the command is about one.
func AttackNamed(cmd *Command, l record.Line) string {
	if typed := l.Keys["attack"]; typed != "" {
		return typed
	}
	if cmd.Name == "attack" && len(l.Words) > 0 {
		return l.Words[0]
	}
	return ""
}

// AttackArg is the argument that names the attack which the command is about; ok reports whether it can be about one.
func (c *Command) AttackArg() (arg Arg, ok bool) {
	for _, arg := range c.Args {
		if c.Name == "attack" || arg.Name == "attack" && !arg.Object {
			return arg, true
		}
	}
	return arg, false
}

// ImpliesAttack reports whether the command is about the attack in whose thread its line is, where that names none.
func (c *Command) ImpliesAttack() bool {
	arg, ok := c.AttackArg()
	return ok && !arg.Typed
}

// WithAttack is the line with the attack's whole id.
func WithAttack(cmd *Command, l record.Line, id string) record.Line {
	if cmd.Name == "attack" {
		l.Words = append([]string{id}, l.Words[min(1, len(l.Words)):]...)
		return l
	}
	return l.With("attack", id)
}

// Me is the one who asks, as a user that is named.
const Me = "me"

// userID is a Slack user as Slack writes a mention, or as a person writes one by hand.
var userID = regexp.MustCompile(`^<?@?([UW][A-Z0-9]{1,19})(\|[^>]*)?>?$`)

// ReadUser takes @me, a mention, or a Slack user id.
func ReadUser(value string, _ *config.Account) (string, error) {
	if strings.EqualFold(strings.TrimPrefix(value, "@"), Me) {
		return Me, nil
	}
	if m := userID.FindStringSubmatch(value); m != nil {
		return m[1], nil
	}
	return "", refusal.Invalid("user", value, "@me", "A mention in Slack; at the terminal the user's id, as ",
		text.Code("U0123ABCD"), " (the profile, ⋮, Copy member ID)")
}
