// Package verb has the commands: each is a text, a row and a pure function.
//
//   - verbs.txt says what people read about a command, and which arguments it has;
//   - arguments.go says how arguments are read;
//   - works, below, says which facts a command needs, and which function reads, plans or writes;
//   - that function is in the command's file, which a pair such as ack and unack shares.
package verb

import (
	"cmp"
	_ "embed"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// verbs has the commands in the groups and the order of help. A command's text is its names and its least role, what it
// does, and a line for each argument and flag, as Usage writes it. The label of an argument's field and its help follow
// if they differ from those in arguments. A line that begins with two spaces continues the one before.
//
//go:embed verbs.txt
var verbs string

// group is verbs that belong together, for help.
type group struct {
	title string
	verbs []*call.Command
}

// groups are all the commands, in the order of help. A new command is a text, a row of works, and a file.
func groups() (all []group) {
	works := works()
	for about := range strings.SplitSeq(strings.TrimSpace(verbs), "\n\n") {
		if title, ok := strings.CutPrefix(about, "# "); ok {
			all = append(all, group{title: title})
			continue
		}
		last := &all[len(all)-1]
		last.verbs = append(last.verbs, command(about, works))
	}
	return all
}

// All is all the verbs.
func All() (all []*call.Command) {
	for _, g := range groups() {
		all = append(all, g.verbs...)
	}
	return all
}

// works says what each command needs and does, by its name.
func works() map[string]call.Command {
	onLists := call.Needs{Entries: call.AllLists}.Always()
	onRules := call.Needs{Rules: call.AllRules}.Always()
	onRequests := call.Needs{Approvals: true}.Always()
	onAttack := call.Rounds{triageNeeds}
	return map[string]call.Command{
		"status":    {AnyAccount: true, Needs: report.HomeNeeds(), Read: readStatus},
		"incidents": {AnyAccount: true, Needs: report.ListNeeds(24*time.Hour, true), Read: readIncidents},
		"attacks":   {AnyAccount: true, Needs: report.ListNeeds(time.Hour, false), Read: readAttacks},
		"attack":    {Needs: call.Rounds{attackNeeds, report.GroupedNeeds}, Read: readAttack},
		"vulns":     {Needs: call.Rounds{vulnNeeds, incidentNeeds}, Read: readVulns},
		"summary":   {Needs: report.SummaryNeeds(), Read: readSummary},
		"trends":    {Needs: call.Rounds{report.TrendNeeds}, Read: report.ShowTrends},
		"report":    {Past: true, Needs: report.HistoryNeeds(), Read: readReport},

		"contain": {Parts: 2, Needs: call.Needs{Entries: call.AllLists, Rules: call.AllRules}.Always(), Plan: planContain},
		"deny": {
			Needs: onLists, Form: form.ListForm, Missing: listMisses, Plan: change.Denying.Plan, Typed: denyTyped,
		},
		"allow":  {Needs: onLists, Form: form.ListForm, Missing: listMisses, Plan: change.Allowing.Plan},
		"gray":   {Needs: onLists, Form: form.ListForm, Missing: listMisses, Plan: change.Graying.Plan},
		"lists":  {Needs: call.Rounds{listNeeds}, Read: readLists},
		"remove": {Needs: call.Rounds{removeNeeds}, Plan: planRemove},

		"patch":       {Needs: onRules, Missing: form.PatchMisses, Form: form.PatchForm, Plan: planPatch(change.PatchOf)},
		"block-path":  {Needs: onRules, Plan: planPatch(change.BlockPath)},
		"indicator":   {Needs: onRules, Form: form.IndicatorForm, Plan: planIndicator},
		"mode":        {Needs: onRules, Changes: switchesMode, Form: form.ModeForm, Read: report.ShowMode, Plan: planMode},
		"rules":       {Needs: call.Rounds{ruleNeeds}, Read: readRules},
		"conditions":  {Needs: call.Needs{Conditions: true, Rules: call.AllRules}.Always(), Read: readConditions},
		"delete-rule": {Needs: onRules, Plan: planDeleteRule},

		"undo":     {Typed: undoTyped, Needs: call.Rounds{undoNeeds}, Plan: planUndo},
		"extend":   {Needs: call.Rounds{change.ExtendNeeds}, Plan: change.PlanExtend},
		"approve":  {Needs: onRequests, Decide: decide(record.RequestApproved, approval.MayApprove)},
		"reject":   {Needs: onRequests, Decide: decide(record.RequestRejected, approval.MayApprove)},
		"override": {Needs: onRequests, Form: overrideForm, Decide: decide(record.RequestOverridden, mayOverride)},

		"ack":   {Needs: onAttack, Write: onTriage(writeAck)},
		"unack": {Needs: onAttack, Write: onTriage(writeUnack)},
		"handover": {Needs: call.Rounds{handoverNeeds}, Missing: handoverMisses, Form: form.HandoverForm,
			Write: writeHandover},
		"note":    {Needs: onAttack, Write: onTriage(writeNote)},
		"verdict": {Needs: onAttack, Write: onTriage(writeVerdict)},
		"mute":    {Needs: call.Rounds{muteNeeds}, Missing: muteMisses, Form: form.MuteForm, Write: writeMute},
		"unmute":  {Needs: call.Rounds{call.Needs{Mutes: true}.Of, unmuteNeeds}, Write: writeUnmute},
		"explain": {Needs: call.Rounds{explainNeeds, routingNeeds}, Read: readExplain},

		"protect":   {Needs: call.Needs{Entries: apiclient.ListDeny, Stored: true}.Always(), Write: writeProtect},
		"unprotect": {Needs: call.Needs{Stored: true}.Always(), Write: writeUnprotect},
		"sources":   {Needs: call.Needs{Context: true}.Always(), Read: readSources},

		"audit": {
			AnyAccount: true, Needs: call.Rounds{report.AuditNeeds}, Read: report.ShowAudit, ReadTrail: report.ExportAudit,
		},
		"drill":  {Needs: call.Needs{Drill: true, Replicas: true}.Always(), Write: writeDrill},
		"whoami": {AnyAccount: true, Read: readWhoami},
		"help":   {AnyAccount: true, Read: readHelp},
	}
}

// command is the command that a text describes.
func command(about string, works map[string]call.Command) *call.Command {
	lines := strings.Split(strings.ReplaceAll(about, "\n  ", " "), "\n")
	names, role, _ := strings.Cut(lines[0], ": ")
	words := strings.Fields(names)
	c := works[words[0]]
	c.Name, c.Aliases, c.Summary = words[0], words[1:], lines[1]
	c.Role, _ = record.ParseRole(role)
	for _, line := range lines[2:] {
		written, help, _ := strings.Cut(line, ": ")
		usage, label, _ := strings.Cut(written, " ")
		word := strings.ToLower(strings.Trim(usage, "[…]"))
		flag, isFlag := strings.CutPrefix(word, "--")
		name, isKey := strings.CutSuffix(word, "=")
		switch {
		case isFlag:
			c.Flags = append(c.Flags, flag)
		case written == "Example":
			c.Example = help
		default:
			arg, own := arguments[c.Name+" "+name]
			if !own {
				arg = arguments[name]
			}
			arg.Name, arg.Object, arg.Required = name, !isKey, !strings.HasPrefix(usage, "[")
			arg.Many = strings.Contains(usage, "…") && !arg.Rest
			arg.Label, arg.Help = cmp.Or(label, arg.Label), cmp.Or(help, arg.Help)
			if name == "attack" && arg.Required {
				arg.Help += "; in a card's thread it need not be written"
			}
			c.Args = append(c.Args, arg)
		}
	}
	return &c
}

// saved is the answer where something is saved.
func saved(data any, lines ...text.Text) call.Result {
	return call.Result{Outcome: "done", Lines: lines, Data: data}
}

// unchanged is the answer where what was asked for holds already.
func unchanged(data any, line text.Text) call.Result {
	return call.Result{Outcome: "nothing", Lines: text.Lines{line}, Data: data}
}

// listing answers with a page of rows, a line each, under a head that counts them. Programs get all rows. At the
// terminal the columns have titles.
func listing[T any](c *call.Call, head text.Text, titles []string, rows []T,
	line func(T) text.Text) (call.Result, error) {
	pages := call.Pages(c, 1)
	lines := pages.Table(titles, len(rows), func(i int) text.Text { return line(rows[i]) })
	return pages.Finish(call.Result{Account: c.Account.Name, Data: append([]T{}, rows...),
		Lines: append(text.Lines{head}, lines...)})
}

// counted is the head of a listing.
func counted(c *call.Call, n int, noun string, more ...any) text.Text {
	return text.New(append([]any{text.Bold(c.Account.Name), ": ", text.Count(n, noun)}, more...)...)
}

// one is a plan alone, as a command gives it.
func one(p call.Plan, err error) ([]call.Plan, error) { return []call.Plan{p}, err }
