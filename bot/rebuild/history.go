package rebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// found is what the metadata of an account's messages hold.
type found struct {
	began     time.Time            // when its first start was posted; zero: no message of that was found
	cards     map[string]foundCard // by the attack's id, as people type it; of several the newest
	worse     []record.CardMetadata
	changes   map[string]*foundChange // by the checksum of what was posted
	places    map[string]string       // channels, by the ids of the changes that were posted there
	delivered map[string]record.Place // messages of the last day that are no cards, by delivery
	unread    []string                // ids of channels that can't be read
}

// foundCard is an attack's card, with what it and the replies under it hold.
type foundCard struct {
	CardMetadata record.CardMetadata
	ts           string
}

// foundChange is what was posted of a change once, in one or more parts.
type foundChange struct {
	channel, ts string // of the newest part
	parts       map[string]map[string]any
}

func newFound() found {
	return found{
		cards: map[string]foundCard{}, changes: map[string]*foundChange{}, places: map[string]string{},
		delivered: map[string]record.Place{},
	}
}

// nothing reports whether nothing was ever posted for the account, as far as can be seen.
func (f found) nothing() bool { return f.began.IsZero() && len(f.cards)+len(f.changes) == 0 }

// What is read, how far that is, and what has to wait for it.
const (
	showChannels = "%d of %d channels read; nothing is posted or changed until all are"
	showThreads  = "%d of %d threads read; nothing is changed until all are"
)

// show has /readyz show how far the reading is.
func (r *Rebuild) show(progress string, done, all int) {
	r.Show(r.Account.Name, fmt.Sprintf(progress, done, all))
}

// readChannels reads the channels, with what was posted into them from threads. Of changes it finds few: their messages
// stand in threads. A channel that can't be read is left out, and named.
func (r *Rebuild) readChannels(ctx context.Context, oldest time.Time) error {
	since := fmt.Sprintf("%d.000000", oldest.Unix())
	r.oldest = cmp.Or(r.oldest, since)
	var all []slackconn.HistoryQuery
	for _, channel := range r.Channels {
		all = append(all, slackconn.HistoryQuery{Channel: channel, Oldest: since})
	}
	err := r.readAll(ctx, all, showChannels)
	r.show(showThreads, 0, len(r.queue))
	return err
}

// readAll reads channels, or the threads of wafbot's messages that were found in them.
func (r *Rebuild) readAll(ctx context.Context, all []slackconn.HistoryQuery, progress string) error {
	r.show(progress, 0, len(all))
	for i, q := range all {
		if err := r.read(ctx, q); err != nil {
			return err
		}
		r.show(progress, i+1, len(all))
	}
	r.worsen()
	return nil
}

// read reads all pages of a channel or thread. What can't be read is named. It fails only when the context ends, or
// Slack will never say who wafbot is.
func (r *Rebuild) read(ctx context.Context, q slackconn.HistoryQuery) error {
	for more := true; more; {
		var page []slackconn.HistoryMessage
		next := q
		err := r.persist(ctx, func() (err error) { page, next, err = r.Slack.History(ctx, q); return err })
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
		case q.Thread != "" && slackconn.ErrorName(err) == "thread_not_found": // its card was deleted meanwhile
			return nil
		default:
			r.Log.Error("read channel back", "account", r.Account.Name, "channel", q.Channel, "err", err)
			if !slices.Contains(r.unread, q.Channel) {
				r.unread = append(r.unread, q.Channel)
			}
			return nil
		}
		// Where nobody posted about the account, as at a first start, it doesn't matter who wafbot is.
		if r.self.Bot == "" && slices.ContainsFunc(page, r.claims) {
			err := r.persist(ctx, func() (err error) { r.self, err = r.Slack.Self(ctx); return err })
			if err != nil {
				return fmt.Errorf("ask slack who wafbot is: %w", err)
			}
		}
		for _, m := range page {
			r.take(q, m)
		}
		q, more = next, next.Cursor != ""
	}
	return nil
}

// persist asks Slack until it answers, waiting as long as it says and longer each time. It returns an error that no
// waiting changes, or the context's.
func (r *Rebuild) persist(ctx context.Context, ask func() error) error {
	for try := 0; ; try++ {
		err := ask()
		v, wait := slackconn.Judge(err)
		if err == nil || slackconn.ErrorName(err) == "missing_scope" || errors.Is(err, slackconn.ErrSamePage) ||
			v == slackconn.ChannelClosed || v == slackconn.ContentRefused || ctx.Err() != nil {
			return err
		}
		wait = max(wait, delay.Backoff(try, time.Second, time.Minute))
		r.Log.WarnContext(ctx, "read back from slack", "err", err, "again_in", wait)
		if err := delay.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// lately is how old a message is at most that could be posted again: no clock asks for an older one.
const lately = 24 * time.Hour

// claims reports whether a message says that a bot posted it about the account.
func (r *Rebuild) claims(m slackconn.HistoryMessage) bool {
	return m.BotID != "" && m.Metadata().EventPayload["account"] == r.Account.Name
}

// take keeps what a message holds that wafbot's own bot user posted about the account. Others may copy its metadata.
func (r *Rebuild) take(q slackconn.HistoryQuery, m slackconn.HistoryMessage) {
	if !r.claims(m) || m.BotID != r.self.Bot || m.User != "" && m.User != r.self.User {
		return
	}
	meta := m.Metadata()
	holds := meta.EventPayload
	// A channel may show a reply whose thread began before what is read.
	if thread := q.Channel + " " + m.Thread; m.Thread != "" && !r.known[thread] {
		r.known[thread] = true
		r.queue = append(r.queue, slackconn.HistoryQuery{Channel: q.Channel, Thread: m.Thread, Oldest: r.oldest})
	}
	now := r.Clocks.Now()
	at := slackconn.WrittenAt(m.TS, now)
	if delivery := text(holds, "delivery"); delivery != "" && meta.EventType != card.MetaCard && now.Sub(at) < lately {
		r.delivered[delivery] = record.Place{Channel: q.Channel, TS: m.TS}
	}
	switch meta.EventType {
	case card.MetaStart:
		if r.began.IsZero() || at.Before(r.began) {
			r.began = at
		}
	case card.MetaCard, card.MetaWorse:
		r.takeAttack(q.Channel, m.TS, meta.EventType == card.MetaWorse, holds)
	case card.MetaChange:
		sum := text(holds, "sum")
		c := cmp.Or(r.changes[sum], &foundChange{parts: map[string]map[string]any{}})
		r.changes[sum] = c
		if c.parts[text(holds, "part")] = holds; later(m.TS, c.ts) {
			c.channel, c.ts = q.Channel, m.TS
		}
	}
}

func text(holds map[string]any, name string) string {
	s, _ := holds[name].(string)
	return s
}

func (r *Rebuild) takeAttack(channel, ts string, worse bool, holds map[string]any) {
	id, facts, ok := card.ReadAttack(r.Account.Name, holds)
	before, twice := r.cards[id]
	facts.Channel = channel
	switch {
	case !ok:
		r.Log.Warn("a card can't be read back", "account", r.Account.Name, "channel", channel, "ts", ts)
		return
	case worse:
		r.worse = append(r.worse, facts)
		return
	case twice && before.ts != ts:
		r.Log.Warn("an attack has several cards, the newest counts",
			"account", r.Account.Name, "attack", id, "channel", channel)
	}
	if !twice || !later(before.ts, ts) {
		r.cards[id] = foundCard{facts, ts}
	}
}

// worsen has cards hold what replies under them say: they may not have been redrawn since.
func (r *Rebuild) worsen() {
	for _, reply := range r.worse {
		id := record.AttackID(r.Account.Name, reply.AttackID)
		if c, ok := r.cards[id]; ok {
			c.CardMetadata = c.CardMetadata.Worsened(reply)
			r.cards[id] = c
		}
	}
}

// posted are the changes as they were posted last. One whose last message isn't whole is as it was before.
func (r *Rebuild) posted() (all []record.Change) {
	newest := map[string]string{}
	for sum, p := range r.changes {
		c, err := change.ReadMetadata(slices.Collect(maps.Values(p.parts))...)
		if err != nil {
			r.Log.Warn("a change can't be read back",
				"account", r.Account.Name, "channel", p.channel, "ts", p.ts, "err", err)
			delete(r.changes, sum)
		} else if later(p.ts, newest[c.ID]) {
			newest[c.ID], r.places[c.ID] = p.ts, p.channel
			all = append(slices.DeleteFunc(all, func(old record.Change) bool { return old.ID == c.ID }), c)
		}
	}
	return all
}

// later reports whether one ts is after another: of the same length they sort as text.
func later(ts, than string) bool { return len(ts) > len(than) || len(ts) == len(than) && ts > than }
