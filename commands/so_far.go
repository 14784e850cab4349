package commands

// maxSoFar is how many measures Standing tells of by themselves.
const maxSoFar = 4

// Standing says in few words which measures are in force and whether they work, the newest first; nothing where none is.
func (s Situation) Standing() Text {
	var all []Text
	for _, ch := range s.Changes {
		if !ch.InForce(s.Now) || ch.Amends() != "" {
			continue
		}
		state := s.head(ch)
		switch {
		case ch.State == StateHalf:
			state = Say(Bold("only partly done"))
		case len(state) == 0:
			state = Say("accepted")
		}
		all = append(all, Say(ch.Line.Name, " ", state))
	}
	if len(all) == 0 {
		return nil
	}
	line := Say(Bold("Done so far, below:"), " ", joined(all[:min(maxSoFar, len(all))], " · "))
	if more := len(all) - maxSoFar; more > 0 {
		line = Say(line, " · ", more, " more")
	}
	return line
}
