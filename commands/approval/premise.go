package approval

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// errClosed marks what planning again found, after which the request is closed.
var errClosed = errors.New("premise changed")

// Close is an error that has the request closed.
func Close(why text.Text) error { return &refusal.Refusal{Kind: errClosed, Text: why} }

// Closes reports whether an error has the request closed, and why.
func Closes(err error) (why text.Text, closes bool) {
	if refused, ok := errors.AsType[*refusal.Refusal](err); ok && errors.Is(err, errClosed) {
		return refused.Text, true
	}
	return nil, false
}

// CloseUnlessTransient is an error of planning again; one that trying again doesn't fix closes the request.
func CloseUnlessTransient(err error) error {
	lasting := errors.Is(err, refusal.ErrGuarded) || errors.Is(err, refusal.ErrNothing) || errors.Is(err, refusal.ErrUsage)
	if refused, ok := errors.AsType[*refusal.Refusal](err); ok && lasting {
		return Close(refused.Text)
	}
	return err
}

// PremiseHolds refuses plans that are worse than what the asker saw.
func PremiseHolds(r record.ApprovalRequest, asked *call.Call, plans []call.Plan) error {
	switch {
	case len(plans) == 0:
		return Close(text.New("nothing is left to do"))
	case len(toDo(plans)) == 0:
		return Close(plans[0].Nothing)
	}
	if worse := worsened(r.Premise, premiseOf(plans)); worse != "" {
		return Close(text.New(worse))
	}
	for _, need := range asked.Needs {
		if !slices.Contains(r.Needs, need) {
			return Close(text.New("one more thing needs approval by now: ", need.Why))
		}
	}
	return nil
}

func premiseOf(plans []call.Plan) (p record.Premise) {
	for _, plan := range toDo(plans) {
		p.Role = max(p.Role, plan.Role)
		if plan.Extends != "" {
			p.Ends = plan.Until
		}
		for _, s := range plan.Steps {
			p.Steps = append(p.Steps, premiseSteps(s)...)
			for _, e := range s.Before {
				p.Before = append(p.Before, standing(e))
			}
			if s.Kind == record.DeleteEntry {
				p.Before = append(p.Before, standing(*s.Entry))
			}
		}
		for _, w := range plan.Warnings {
			p.Warnings = append(p.Warnings, w.Text.String())
		}
	}
	return p
}

// premiseSteps is what the step does, without what moves with the clock: each source that it adds for itself, because
// which of them share an entry moves with what is listed.
func premiseSteps(s record.Step) (all []string) {
	switch s.Kind {
	case record.AddEntry:
		for _, t := range grammar.TargetsOf(*s.Entry) {
			all = append(all, fmt.Sprintf("add %s to the %s, applications %v", text.Sanitize(t.String(), text.MaxPath),
				words.ListName(s.Entry.List), s.Entry.Apps))
		}
		return all
	case record.DeleteEntry:
		return []string{fmt.Sprintf("take entry %d, %s, off the %s", s.Entry.ID, words.Sources(*s.Entry),
			words.ListName(s.Entry.List))}
	case record.DeleteRule:
		return []string{fmt.Sprintf("delete rule %d, %s", s.Rule.ID, words.Rule(nil, *s.Rule))}
	}
	return []string{"create " + words.Rule(nil, *s.Rule)}
}

// standing is an entry as it stands.
func standing(e apiclient.IPRule) string {
	return text.New(words.Sources(e), " is on the ", words.ListName(e.List), words.Until(e.Expires),
		words.Author(e)).String()
}

// freeFigure is a figure that is no part of an address or an id.
var freeFigure = regexp.MustCompile(`(^|\s)\d[\d,]*($|[\s,;)])`)

func withoutFigures(s string) string { return freeFigure.ReplaceAllString(s, "${1}N${2}") }

// worsened says what changed for the worse since, for people; "" if what was asked for still holds. What is done
// already is no change for the worse, but what would be taken away must be there still: an undo would not bring it
// back.
func worsened(p record.Premise, now record.Premise) string {
	if s, ok := absent(now.Steps, p.Steps, exactly); ok {
		return "now it would also " + s
	}
	if s, ok := absent(p.Steps, now.Steps, exactly); ok && !strings.HasPrefix(s, "add ") &&
		!strings.HasPrefix(s, "create ") {
		return "by now it would no longer " + s
	}
	if s, ok := absent(now.Before, p.Before, exactly); ok {
		return "by now " + s + ", which it would overwrite"
	}
	if s, ok := absent(now.Warnings, p.Warnings, withoutFigures); ok {
		return "there is a new warning: " + s
	}
	switch {
	case now.Role > p.Role:
		return "by now it needs the role " + now.Role.String()
	case !now.Ends.Equal(p.Ends):
		return "what it extends has another end by now"
	}
	return ""
}

func exactly(s string) string { return s }

// absent is the first of all that is not among have, as far as they are compared.
func absent(all, have []string, as func(string) string) (string, bool) {
	i := slices.IndexFunc(all, func(s string) bool {
		return !slices.ContainsFunc(have, func(h string) bool { return as(h) == as(s) })
	})
	if i < 0 {
		return "", false
	}
	return all[i], true
}
