package record

import "github.com/wafbot/wafbot/apiclient"

// CardMetadata is what the metadata of an attack's card, and of a reply under it that it got worse, says of the attack. Its state is rebuilt from
// it after Redis was emptied.
type CardMetadata struct {
	AttackID string // as the service gave it
	Incident bool
	Severity Severity // the worst that it reached; "": of a reply, or a card from before it was kept
	Status   apiclient.Status
	Decade   int // decimal digits of the hits; 0: unknown
	Quiet    bool
	Channel  string // where it was read: the metadata doesn't hold it
	Mention  string // "": none
}

// Worsened is the card's metadata after a reply under it that the attack got worse: the card may not have been redrawn since.
func (m CardMetadata) Worsened(reply CardMetadata) CardMetadata {
	m.Incident, m.Decade = m.Incident || reply.Incident, max(m.Decade, reply.Decade)
	before, _ := m.Status.PassRank()
	if now, known := reply.Status.PassRank(); known && now >= before {
		m.Status = reply.Status
	}
	return m
}
