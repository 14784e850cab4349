package change

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// covering names the other entries of a list that go on holding for the sources of one that is taken off: those that cover its addresses,
// and those for a country from which the attack that it was made for says that they come. Who is in a data center or behind a proxy only the
// service knows.
func covering(c *call.Call, ch record.Change, off apiclient.IPRule, others []apiclient.IPRule) (notes []text.Text, err error) {
	country := ""
	if slices.ContainsFunc(others, func(e apiclient.IPRule) bool { return e.Kind == apiclient.KindCountry }) {
		if country, err = countryOf(c, ch, off); err != nil {
			return nil, err
		}
	}
	for _, e := range others {
		from := e.Kind == apiclient.KindCountry && country != "" && slices.Contains(e.Values, country)
		if !call.Overlap(e.Apps, off.Apps) || !from && !efficacy.CoversEntry(e, off) {
			continue
		}
		note := text.New("still on the ", describe.ListName(e.List), ": ", describe.EntrySources(e), " covers it")
		if !call.Everywhere(e.Apps) {
			note = text.New(note, " ", c.Account.AppsText(e.Apps))
		}
		notes = append(notes, text.New(note, describe.Until(e.Expires), describe.EntryAuthor(e)))
	}
	return notes, nil
}

// countryOf is where an entry's address comes from, as the attack tells that it was denied for; "" if that is not known.
func countryOf(c *call.Call, ch record.Change, e apiclient.IPRule) (string, error) {
	if ch.AttackID == "" || !efficacy.OneAddress(e) {
		return "", nil
	}
	known, err := c.Facts(c.Account.Name).KnownAttacks(ch.AttackID)
	if err != nil {
		return "", refusal.Away(err)
	}
	for _, s := range known[ch.AttackID].Sources {
		if s.IP.Unmap() == e.Subnet.Addr().Unmap() {
			return s.Country, nil
		}
	}
	return "", nil
}
