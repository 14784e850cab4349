package advice

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxMitigations is how many mitigations Mitigations names by themselves.
const maxMitigations = 4

// Mitigations says in few words which mitigations are in force and whether they work, the newest first; nothing where none is.
func Mitigations(s call.Situation) text.Text {
	var all []text.Text
	for _, ch := range s.Changes {
		if !ch.InForce(s.Now) || ch.Parent() != "" {
			continue
		}
		state := efficacy.Head(s, ch)
		switch {
		case ch.State == record.StateHalf:
			state = text.New(text.Bold("only partly done"))
		case len(state) == 0:
			state = text.New("accepted")
		}
		all = append(all, text.New(ch.Line.Name, " ", state))
	}
	if len(all) == 0 {
		return nil
	}
	line := text.New(text.Bold("Done so far, below:"), " ", text.Join(all[:min(maxMitigations, len(all))], " · "))
	if more := len(all) - maxMitigations; more > 0 {
		line = text.New(line, " · ", more, " more")
	}
	return line
}
