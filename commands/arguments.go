package commands

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
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
	// Read checks a value and brings it into its canonical form, so that equal lines read equal. It may be nil: any text.
	Read func(value string, a *Account) (string, error)

	Label   string                 // of its field; "": its name
	Kind    FieldKind              // of its field; "": FieldText, or a choice where there are options
	Options func(c *Call) []Option // what its field offers; nil, or none: any text
	Default func(c *Call) string   // what holds when it is left out; nil: nothing does
}

func readDuration(value string, _ *Account) (string, error) {
	d, err := grammar.ParseDuration(value)
	return grammar.DurationText(d), err
}

func readTarget(value string, _ *Account) (string, error) {
	t, err := grammar.ParseTarget(value)
	return t.String(), err
}

// readApp takes an application's id, its configured name, or app:default.
func readApp(value string, a *Account) (string, error) {
	id, err := a.app(value)
	return strconv.Itoa(id), err
}

func readApps(value string, a *Account) (string, error) {
	var ids []string
	for name := range strings.SplitSeq(value, ",") {
		id, err := readApp(strings.TrimSpace(name), a)
		if err != nil {
			return "", err
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), ","), nil
}

// oneOf makes a reader that takes the given words, in any case.
func oneOf(words ...string) func(string, *Account) (string, error) {
	return func(value string, _ *Account) (string, error) {
		if i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, value) }); i >= 0 {
			return words[i], nil
		}
		return "", refusal.Usage(text.New(refusal.Typed(value), " is none of ", strings.Join(words, ", ")))
	}
}

func readList(value string, _ *Account) (string, error) {
	switch strings.ToLower(value) {
	case "black", "deny", "denylist":
		return apiclient.ListDeny, nil
	case "white", "allow", "allowlist":
		return apiclient.ListAllow, nil
	case "gray", "grey", "graylist":
		return apiclient.ListGray, nil
	}
	return "", refusal.Usage(text.New(refusal.Typed(value), " is no list: black, white or gray"))
}

// Arguments that several commands share.
var (
	argAttack = Arg{Name: "attack", Help: "the attack's id, as on its card", Options: ongoingAttacks}
	argReason = Arg{Name: "reason", Help: "why, for the list and the audit log"}
	argApps   = Arg{Name: "app", Label: "Applications; none chosen: all", Help: "applications by id or name, with commas; left out: all", Read: readApps, Kind: FieldMany, Options: configuredApps}
)

// argFor is how long a measure lasts, and what it lasts when the line doesn't say; nil: that hangs on more than the verb.
func argFor(lasts func(Policy) time.Duration) Arg {
	arg := Arg{Name: "for", Label: "How long", Help: "how long: 30m, 12h, 7d, 2w; left out: as configured", Read: readDuration, Options: lengthsOrEver}
	if lasts != nil {
		arg.Default = func(c *Call) string { return grammar.DurationText(lasts(c.Policy)) }
	}
	return arg
}

// check holds a line against the command's arguments and gives it back in canonical form.
func (c *Command) check(l record.Line, a *Account) (record.Line, error) {
	out := record.Line{Name: c.Name, Flags: l.Flags}
	for _, f := range l.Flags {
		if !slices.Contains(c.Flags, f) {
			return record.Line{}, c.misuse(text.New(refusal.Typed("--"+f), " is no option of ", text.Code(c.Name)))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.Keys)) {
		i := slices.IndexFunc(c.Args, func(arg Arg) bool { return arg.Name == key && !arg.Object })
		if i < 0 {
			return record.Line{}, c.misuse(text.New(refusal.Typed(key+"="), " is no argument of ", text.Code(c.Name), grammar.Hint(key, c.keys())))
		}
		value, err := c.Args[i].read(l.Keys[key], a)
		if err != nil {
			return record.Line{}, refusal.About(err, key, l.Keys[key])
		}
		out = out.With(key, value)
	}
	words, err := c.objects(l.Words, a)
	if err != nil {
		return record.Line{}, err
	}
	out.Words = words
	for _, arg := range c.Args {
		if arg.Required && !arg.Object && out.Keys[arg.Name] == "" {
			return record.Line{}, refusal.About(c.misuse(text.New(text.Code(arg.Name+"="), " is missing: ", arg.Help)), arg.Name, "")
		}
	}
	return out, nil
}

func (c *Command) objects(words []string, a *Account) ([]string, error) {
	var out []string
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
			return nil, refusal.About(c.misuse(text.New("which ", arg.Name, "? ", arg.Help)), arg.Name, "")
		}
		for _, w := range words[:n] {
			value, err := arg.read(w, a)
			if err != nil {
				return nil, refusal.About(err, arg.Name, w)
			}
			if !slices.Contains(out, value) || !arg.Many {
				out = append(out, value)
			}
		}
		words = words[n:]
	}
	if len(words) > 0 {
		return nil, c.misuse(text.New(refusal.Typed(words[0]), " is one word too many"))
	}
	return out, nil
}

func (arg Arg) read(value string, a *Account) (string, error) {
	if value == "" {
		return "", refusal.Usage(text.New(text.Code(arg.Name), " is empty: ", arg.Help))
	}
	if arg.Read == nil {
		return value, nil
	}
	return arg.Read(value, a)
}

func (c *Command) keys() []string {
	keys := []string{"account"}
	for _, arg := range c.Args {
		if !arg.Object {
			keys = append(keys, arg.Name)
		}
	}
	return keys
}

// misuse is a usage error that ends with how the command is written.
func (c *Command) misuse(what text.Text) error {
	return &refusal.Refusal{Kind: refusal.ErrUsage, Text: text.New(what, ". Usage: ", text.Code(c.Usage())), Brief: what}
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
