package change

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// DueLine says what the end of a change would bring, and whether it is late.
func DueLine(a *call.Account, ch record.Change, now time.Time) text.Text {
	what := text.New("The end of ", text.Bold(ch.Does), " is due")
	if i := slices.IndexFunc(ch.Steps, func(s record.Step) bool { _, ok := describe.ModeOf(s); return ok && s.Kind == record.CreateRule }); i >= 0 {
		app, _ := describe.ModeOf(ch.Steps[i])
		to := "the mode that it inherits"
		if old := slices.IndexFunc(ch.Steps, func(s record.Step) bool { return s.Kind == record.DeleteRule && s.Done }); old >= 0 {
			to = text.Sanitize(ch.Steps[old].Rule.Mode, text.MaxField)
		}
		what = text.New(text.Bold(a.AppName(app) + " should return to " + to))
	}
	if now.Before(ch.Until) {
		return text.New(what, " at ", ch.Until, ": it can't as long as this lasts")
	}
	return text.New(what, " at ", ch.Until, ": ", text.Bold("NOT done"))
}

// DueMeanwhile are the changes that wafbot has to end within the next half day and can't, what comes first first. What was tried already is among
// what was refused.
func DueMeanwhile(t record.PermissionLoss, changes []record.Change, now time.Time) []record.Change {
	due := slices.DeleteFunc(slices.Clone(changes), func(ch record.Change) bool {
		tried := slices.ContainsFunc(t.Refused, func(r record.RefusedChange) bool { return r.Ends == ch.ID })
		return tried || ch.DueAt().IsZero() || ch.DueAt().After(now.Add(12*time.Hour)) || !slices.ContainsFunc(NeededPermissions(ch.Steps), t.LacksPermission)
	})
	slices.SortFunc(due, func(x, y record.Change) int { return x.DueAt().Compare(y.DueAt()) })
	return due
}

// PermissionFix says who can untie wafbot's hands, and where.
func PermissionFix(t record.PermissionLoss) text.Text {
	where := map[record.Permission]string{record.PermissionLists: "/v4/ip_rules", record.PermissionModes: "/v1/objects/hint", record.PermissionRules: "/v1/objects/hint"}
	if slices.Contains(t.Lacks, record.PermissionAll) {
		return text.New("The service doesn't accept wafbot's token: it was revoked or has expired. Who manages the service's tokens makes a new one; written into the account's ",
			text.Code("token_file"), " it is read again by itself, anywhere else it needs a restart")
	}
	var may []text.Text
	for _, p := range t.Lacks {
		may = append(may, text.New(string(p), " (", text.Code(where[p]), ")"))
	}
	return text.New("wafbot's token may not ", text.Join(may, ", nor "), ": an admin of the service can give its user a role that may. Nothing needs a restart")
}
