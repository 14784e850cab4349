package describe

import (
	"fmt"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
)

// Step is the step in words for the audit log and for dry runs.
func Step(s record.Step) string {
	switch s.Kind {
	case record.AddEntry, record.DeleteEntry:
		verb := "add to"
		if s.Kind == record.DeleteEntry {
			verb = fmt.Sprintf("delete entry %d from", s.Entry.ID)
		}
		var names []string
		for _, t := range grammar.TargetsOf(*s.Entry) {
			names = append(names, t.String())
		}
		return fmt.Sprintf("%s list %s: %s apps=%v until %s force=%v reason=%q", verb, s.Entry.List, strings.Join(names, ","), s.Entry.Apps,
			s.Entry.Expires.UTC().Format(time.RFC3339), s.Force, s.Entry.Reason)
	}
	verb := "create"
	if s.Kind == record.DeleteRule {
		verb = fmt.Sprintf("delete rule %d,", s.Rule.ID)
	}
	return fmt.Sprintf("%s %s", verb, Rule(*s.Rule))
}
