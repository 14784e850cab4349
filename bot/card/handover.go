package card

import (
	"cmp"
	"maps"
	"slices"

	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// HandoverLines says who owns an attack now, with the note of the hand-over.
func HandoverLines(said record.Triage) []text.Text {
	o := said.Owner
	line := text.New(text.User(o.ID), ": ", text.Sanitize(o.By.Name, MaxName), " hands this attack over to you")
	if o.By.ID == o.ID {
		line = text.New(text.Bold(text.Sanitize(o.Name, MaxName)), " takes this attack over")
		if o.From != "" {
			line = text.New(line, " from ", text.User(o.From))
		}
	}
	lines := []text.Text{line}
	if i := slices.IndexFunc(said.Notes, func(n record.Note) bool { return n.ID == o.Note }); i >= 0 {
		lines = append(lines, describe.Note(said.Notes[i]))
	}
	return lines
}

// maxTakenIDs is how many attacks a takeover names for each former owner.
const maxTakenIDs = 5

// TakeoverLines says who owns the account's attacks now, and mentions the former owners.
func TakeoverLines(n record.Event, cases map[string]record.Triage) (lines []text.Text) {
	from := map[string][]string{} // attacks by former owner
	var now record.Owner
	taken := 0
	for _, id := range slices.Sorted(maps.Keys(cases)) {
		owner := cases[id].Owner
		if owner == nil || owner.ID != n.Payload.(record.Assignment).To || owner.Since.Before(n.At) {
			continue
		}
		taken++
		now = *owner
		if owner.From != "" && owner.From != owner.ID {
			from[owner.From] = append(from[owner.From], id)
		}
	}
	if taken == 0 {
		return nil
	}
	name := text.Sanitize(now.Name, maxNoticeName)
	what := text.New(taken, text.Plural(int64(taken), " attack"), " of ", text.Bold(n.Account))
	if now.By.ID == now.ID {
		lines = append(lines, text.New(text.Bold(name), " takes over ", what))
	} else {
		lines = append(lines, text.New(text.User(now.ID), ": ", text.Sanitize(cmp.Or(now.By.Name, now.By.ID), maxNoticeName), " hands ", what, " over to you"))
	}
	for _, who := range slices.Sorted(maps.Keys(from)) {
		lines = append(lines, text.New(text.User(who), ": no longer yours: ", idsText(from[who])))
	}
	return lines
}

// idsText names attacks, the first of many.
func idsText(ids []string) text.Text {
	return text.Enumerate(ids, maxTakenIDs, func(id string) text.Text { return text.New(text.Code(id)) })
}
