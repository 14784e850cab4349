package verb

import (
	"fmt"
	"maps"
	"slices"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// readWhoami answers for each account, whose name is left out where there is only one.
func readWhoami(c *call.Call) (call.Result, error) {
	person := text.Lead(c.Actor.Name, ": ")
	if len(c.InScope) == 1 {
		lines, data := standing(c, c.InScope[0])
		data["id"], data["name"] = c.Actor.ID, c.Actor.Name
		return call.Result{Lines: append(text.Lines{text.New(person, lines[0])}, lines[1:]...), Data: data}, nil
	}
	res, accounts := call.Result{Lines: text.Lines{text.New(person, "on each account")}}, map[string]map[string]string{}
	alike := map[string][]*config.Account{} // of many accounts, by what is said of them: then it is said once
	for _, a := range c.InScope {
		lines, data := standing(c, a)
		accounts[a.Name] = data
		if same := fmt.Sprint(data); len(c.InScope) > call.ShortList {
			alike[same] = append(alike[same], a)
			continue
		}
		res.Lines.Addf("• *%v*: %v", a.Name, text.Join(lines, ". "))
	}
	for _, same := range slices.Sorted(maps.Keys(alike)) {
		lines, _ := standing(c, alike[same][0])
		res.Lines.Addf("• %v: %v", call.AccountNames(alike[same]), text.Join(lines, ". "))
	}
	res.Data = map[string]any{"id": c.Actor.ID, "name": c.Actor.Name, "accounts": accounts}
	return res, nil
}

// standing is what the person may do on an account, for people and for programs.
func standing(c *call.Call, a *config.Account) (text.Lines, map[string]string) {
	s := c.RightsOn[a.Name]
	may := map[record.Role]string{record.Viewer: "You may read",
		record.Responder: "You may read, deny, gray, patch, switch to stricter modes, undo, acknowledge and mute",
		record.Admin:     "You may do everything"}[s.Role]
	data := map[string]string{"role": s.Role.String(), "changes": c.PolicyOf(a).ChangesNow()}
	if s.Group != "" {
		data["group"] = s.Group
	}
	lines := text.Lines{text.New(s.Role.String(), approval.ByGroup(s.Group), ". ", may),
		text.New("wafbot is ", c.PolicyOf(a).Describe())}
	if s.Could > s.Role {
		lines.Add("Slack doesn't say just now whether a user group gives you more")
	}
	return lines, data
}
