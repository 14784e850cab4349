// Package rebuild composes what an account's state begins with after Redis was emptied, from what its messages in Slack and the service's lists hold.
package rebuild

import (
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/poller"
)

// Input is what was read of an account.
type Input struct {
	Account  *call.Account
	Channels []string // that its routes name; the first is the one for notices
	Epoch    string   // names the state that begins
	Found    bot.Found
	Entries  []apiclient.IPRule // on the service's lists
	NoLists  bool               // they could not be read: entries that no message holds stay unknown
	Now      time.Time
}

// Cards is what the attacks that have a card begin with: enough to watch the account, and too little to change anything. It is zero where nothing was found.
func Cards(in Input) (r store.Rebuilt) {
	if in.Found.Nothing() {
		return r
	}
	r.At, r.FirstStart, r.Attacks = in.Now, in.Found.Began, map[string]record.AttackState{}
	for _, id := range slices.Sorted(maps.Keys(in.Found.Cards)) {
		card := in.Found.Cards[id]
		r.Attacks[card.AttackID] = poller.Rebuild(card.CardMetadata, in.Now)
		r.Cards = append(r.Cards, store.Card{Attack: id, Channel: card.Channel, TS: card.TS})
	}
	return r
}

// State is the state that begins. It is zero but for its epoch at a first start, which is one where nothing was found.
func State(in Input) store.Rebuilt {
	r := Cards(in)
	r.Epoch = in.Epoch
	if in.Found.Nothing() {
		if in.Found.Unreadable {
			r.Events = []record.Event{in.event(in.Channels[0], record.RebuildFacts{Unreadable: true})}
		}
		return r
	}
	var posted []record.Change
	for _, id := range slices.Sorted(maps.Keys(in.Found.Changes)) {
		posted = append(posted, in.Found.Changes[id].Change)
	}
	known := change.Rebuild(in.Account, posted, in.Entries, in.Now)
	r.Changes, r.Delivered = known.Changes, in.Found.Delivered
	r.Events = in.events(r, record.RebuildFacts{Listed: len(known.Listed), Unknown: known.Unknown, NoLists: in.NoLists, Unread: in.Found.Unread})
	return r
}

// events says in each channel what was rebuilt from it; what concerns none of them, in the channel for notices.
func (in Input) events(r store.Rebuilt, facts record.RebuildFacts) (events []record.Event) {
	cards, inForce := map[string]int{}, map[string]int{}
	for _, c := range r.Cards {
		cards[c.Channel]++
	}
	for _, ch := range r.Changes {
		if posted, ok := in.Found.Changes[ch.ID]; ok && ch.InForce(in.Now) && ch.Parent() == "" {
			inForce[posted.Channel]++
		}
	}
	for i, channel := range in.Channels {
		if i > 0 {
			if slices.Contains(in.Found.Unread, channel) {
				continue
			}
			facts = record.RebuildFacts{}
		}
		facts.Cards, facts.InForce = cards[channel], inForce[channel]
		events = append(events, in.event(channel, facts))
	}
	return events
}

// event says in a channel what was rebuilt; its epoch makes it this event and no other.
func (in Input) event(channel string, facts record.RebuildFacts) record.Event {
	return record.Event{
		ID: record.DeliveryID(in.Account.Name, channel+" "+in.Epoch, record.StoreRebuilt, 0), Account: in.Account.Name, Kind: record.StoreRebuilt,
		Channel: channel, At: in.Now, Payload: facts,
	}
}
