package commands

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// length is how long a change is to hold: as typed, else as configured.
func (c *Call) length(typed string, configured time.Duration) (time.Duration, error) {
	if typed == "" {
		return configured, refusal.About(c.guardDuration(configured), "for", "")
	}
	length, err := grammar.ParseDuration(typed)
	if err != nil {
		return 0, err
	}
	return length, refusal.About(c.guardDuration(length), "for", "")
}

// place reads HOST/PATH.
func (c *Call) place(word string) (host, path string, err error) {
	host, path, ok := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "https://"), "http://"), "/")
	if !ok || host == "" {
		return "", "", c.Cmd.misuse(text.New(refusal.Typed(word), " is no HOST/PATH, as ", text.Code("shop.example.com/login")))
	}
	return strings.ToLower(host), "/" + path, nil
}

// complete is a canonical line with how long it holds, what for and why.
func (c *Call) complete(l record.Line, length time.Duration) record.Line {
	return c.about(l.With("for", grammar.DurationText(length)))
}

// about is a canonical line with what it is for and why.
func (c *Call) about(l record.Line) record.Line {
	return l.With("attack", c.Line.Keys["attack"]).With("reason", c.Line.Keys["reason"])
}

// planRule looks at the rules and adds the step that creates one to the plan, unless one that does the same is there:
// then what is wanted, in words, holds already.
func (c *Call) planRule(p Plan, rule apiclient.Rule, holds string) (Plan, error) {
	rules, err := c.given().Rules(apiclient.RuleFilter{})
	if err != nil {
		return Plan{}, err
	}
	if i := slices.IndexFunc(rules, func(r apiclient.Rule) bool { return apiclient.SameRule(r, rule) }); i >= 0 {
		p.Nothing = text.New(holds, " already, ", c.byRule(rules[i].ID))
		return p, nil
	}
	if i := slices.IndexFunc(rules, func(r apiclient.Rule) bool { return apiclient.CoversPatch(r, rule) }); i >= 0 {
		p.Warnings = append(p.Warnings, refusal.Warning{Text: text.New("rule ", text.Code(fmt.Sprint(rules[i].ID)), ", which is wider, covers it already: another one adds nothing while that one stands")})
	}
	p.Warnings = append(p.Warnings, c.locked()...)
	p.Steps = []record.Step{{Kind: record.CreateRule, Rule: &rule}}
	return p, nil
}

// byRule names the rule by which something holds already, and until when, where wafbot will end it: that may be sooner than was asked for.
func (c *Call) byRule(id int64) text.Text {
	words := text.New("by rule ", text.Code(fmt.Sprint(id)))
	made := c.makers()[id]
	if made.DueAt().IsZero() {
		return words
	}
	return text.New(words, ", until ", made.DueAt(), ": ", text.Code("extend "+made.ID+" for=…"), " extends it")
}
