package advice

import (
	"net/netip"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// noStormDeny says what stops a storm that no one denial does.
func noStormDeny(s call.Situation) text.Lines {
	lines := text.Lines{text.Newf("*No one deny stops this.* *What can:* a rate limit or captcha in the application · a header that the requests share, your own list of addresses: under More")}
	method, place, ok := change.Blockable(s.Attack, s.Storm)
	if !ok || watchedOnly(s) {
		return lines
	}
	closing := record.LineOf("", "block-path", method, place).With("for", "30m")
	line := text.Newf("At that path: `%v` blocks all requests, clean ones too", closing.String())
	if apiclient.Patchable(s.Attack.Type) {
		patching := record.LineOf("", "patch", method, place).With("type", s.Attack.Type).With("part", "…")
		line.Addf(" · `%v` closes the hole alone; the part is in the list", patching.String())
	}
	return append(lines, line)
}

// ShowUnblocked is the button that lists what gets through.
func ShowUnblocked(s call.Situation) []call.Suggestion {
	label := "List it"
	if left := s.Storm.Passing(); left > 1 {
		label = "List the " + text.Number(left)
	}
	if s.Storm.UnblockedCount == 0 {
		return nil
	}
	return []call.Suggestion{{
		Label: label, Spoken: "List all grouped attacks, what gets through first",
		Line: record.LineOf(s.Account.Name, "attacks").With("storm", s.ID),
	}}
}

// denyInStorm offers to deny the busiest source of what gets through that may be denied, and says why others may not.
func (a *Advice) denyInStorm(s call.Situation) {
	if len(s.Storm.Behind) > 0 && watchedOnly(s) {
		a.Notes.Addf("No deny: no application of the storm can block, so it would stop nothing there")
		return
	}
	for _, behind := range s.Storm.Behind {
		one := s
		one.Storm, one.Attack.Sources = nil, []apiclient.Source{behind.Source}
		if covered(one, behind.Source) {
			a.note(deniedAlready(one))
			continue
		}
		if why := undeniable(one, behind.Source); len(why) > 0 {
			a.note(why)
			continue
		}
		a.offer(s, denyButton(s, Leak{Source: behind.Source}))
		if 2*behind.In >= s.Storm.Passing() {
			return
		}
		break
	}
	if s.Storm.Passing() > 0 {
		a.Notes = append(a.Notes, noStormDeny(s)...)
	}
}

// reachWords say how many of what gets through in a storm has the source. It promises nothing: others may go on.
func reachWords(s record.Storm, source netip.Addr) string {
	i := slices.IndexFunc(s.Behind, func(b record.StormSource) bool { return b.IP == source })
	in, n := s.Behind[i].In, s.Passing()
	reach := text.Number(in) + " of the " + text.Number(n) + " that get through; the others go on"
	switch {
	case n == 1:
		reach = "the one that gets through"
	case in == n:
		reach = "all " + text.Number(n) + " that get through"
	}
	return "It is in " + reach + "."
}
