package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// History says which messages to read.
type History struct {
	Account  string
	Channels []string
	Oldest   time.Time // threads are read as far as they go
}

// Found is what the metadata of an account's messages in Slack hold.
type Found struct {
	Began      time.Time               // when its first start was posted; zero: no message of that was found
	Cards      map[string]FoundCard    // by the attack's id, as people type it; of several the newest
	Changes    map[string]FoundChange  // by id, as posted last
	Delivered  map[string]record.Place // messages of the last day that are no cards, by delivery
	Unread     []string                // ids of channels that can't be read
	Unreadable bool                    // none of them can
}

// FoundCard is an attack's card, with what it and the replies under it hold.
type FoundCard struct {
	record.CardMetadata
	TS string
}

// FoundChange is a change and where it was posted.
type FoundChange struct {
	record.Change
	Channel string
	ts      string
}

// Nothing reports whether nothing was ever posted for the account, as far as can be seen.
func (f Found) Nothing() bool { return f.Began.IsZero() && len(f.Cards)+len(f.Changes) == 0 }

// Reading reads what an account's messages hold: first the channels, which show its cards and that attacks got worse, then the threads under them, of which
// there may be so many that Slack takes an hour for them. It goes on for as long as it takes, however often Slack limits it or doesn't answer: it fails only
// with its context. A channel that can't be read is left out, and named. Only wafbot's own messages count. One goroutine uses it.
type Reading struct {
	History
	bot     *Server
	found   Found
	posts   []post // that name the account, wafbot's own or not, and were not taken yet
	worse   []record.CardMetadata
	threads []slackconn.HistoryQuery // to be read
	known   map[string]bool          // threads that are among these, or were
	far     progress
}

// progress is how far a reading is.
type progress struct{ channels, allChannels, threads, allThreads int }

// String is the progress in words for people.
func (p progress) String() string {
	if p.channels < p.allChannels {
		return fmt.Sprintf("%d of %d channels read; nothing is posted or changed until all are", p.channels, p.allChannels)
	}
	return fmt.Sprintf("%d of %d threads read; nothing is changed until all are", p.threads, p.allThreads)
}

// post is a message with metadata like wafbot's.
type post struct {
	slackconn.HistoryMessage
	channel string
	meta    slack.SlackMetadata
}

// ReadHistory begins a reading, which /readyz shows until it is closed.
func (b *Server) ReadHistory(h History) *Reading {
	r := &Reading{
		History: h, bot: b, known: map[string]bool{}, far: progress{allChannels: len(h.Channels)},
		found: Found{Cards: map[string]FoundCard{}, Changes: map[string]FoundChange{}, Delivered: map[string]record.Place{}},
	}
	r.show()
	return r
}

// show has /readyz show how far the reading is.
func (r *Reading) show() { r.bot.readings.Store(r.Account, r.far) }

// Close ends the reading.
func (r *Reading) Close() { r.bot.readings.Delete(r.Account) }

// Peek reports whether a bot's message names the account, which need not be wafbot's own, and stops at the first. Until then it finds out only which channels
// can't be read.
func (r *Reading) Peek(ctx context.Context) (found Found, is bool, err error) {
	for _, channel := range r.Channels {
		for q := r.whole(channel); ; {
			q, err = r.page(ctx, q)
			switch {
			case ctx.Err() != nil:
				return Found{}, false, ctx.Err()
			case err != nil:
				r.unread(channel, err)
			case len(r.posts) > 0:
				return Found{}, true, nil
			}
			if q.Cursor == "" {
				break
			}
		}
	}
	return r.found, false, nil
}

// ReadChannels reads the channels, with what was posted into them from threads. Of changes it finds few: their messages stand in threads.
func (r *Reading) ReadChannels(ctx context.Context) (Found, error) {
	r.posts, r.threads, r.known = nil, nil, map[string]bool{} // of a peek
	r.found.Unread, r.found.Unreadable = nil, false
	for _, channel := range r.Channels {
		err := r.all(ctx, r.whole(channel))
		if ctx.Err() != nil {
			return Found{}, ctx.Err()
		}
		if err != nil {
			r.unread(channel, err)
		}
		r.far.channels++
		r.show()
	}
	err := r.take(ctx)
	r.far.allThreads = len(r.threads)
	r.show()
	return r.found, err
}

// ReadThreads reads the threads of wafbot's messages, once ReadChannels has found them.
func (r *Reading) ReadThreads(ctx context.Context) (Found, error) {
	for _, q := range r.threads {
		err := r.all(ctx, q)
		if ctx.Err() != nil {
			return Found{}, ctx.Err()
		}
		if err != nil && slackconn.ErrorName(err) != "thread_not_found" { // else its card was deleted meanwhile
			r.unread(q.Channel, err)
		}
		r.far.threads++
		r.show()
	}
	return r.found, r.take(ctx)
}

// unread notes that a channel, or a thread of it, can't be read.
func (r *Reading) unread(channel string, err error) {
	r.bot.cfg.Log.Error("read channel back", "account", r.Account, "channel", channel, "err", err)
	if !slices.Contains(r.found.Unread, channel) {
		r.found.Unread = append(r.found.Unread, channel)
	}
	r.found.Unreadable = len(r.found.Unread) == len(r.Channels)
}

// whole asks for a channel, as far back as is read.
func (r *Reading) whole(channel string) slackconn.HistoryQuery {
	return slackconn.HistoryQuery{Channel: channel, Oldest: fmt.Sprintf("%d.000000", r.Oldest.Unix())}
}

// all reads all pages of a channel or thread.
func (r *Reading) all(ctx context.Context, q slackconn.HistoryQuery) (err error) {
	for more := true; more; more = err == nil && q.Cursor != "" {
		q, err = r.page(ctx, q)
	}
	return err
}

// page reads a page of a channel or thread, and keeps what names the account.
func (r *Reading) page(ctx context.Context, q slackconn.HistoryQuery) (next slackconn.HistoryQuery, err error) {
	var messages []slackconn.HistoryMessage
	err = r.bot.persist(ctx, func() (err error) {
		messages, next, err = r.bot.cfg.Slack.History(ctx, q)
		return err
	})
	if err != nil {
		return next, fmt.Errorf("read history of %s: %w", q.Channel, err)
	}
	for _, m := range messages {
		r.keep(q.Channel, m)
	}
	return next, nil
}

// persist asks Slack until it answers, waiting as long as it says and longer each time. It returns an error that no waiting changes, or the context's.
func (b *Server) persist(ctx context.Context, ask func() error) error {
	for try := 0; ; try++ {
		err := ask()
		if err == nil || slackconn.ErrorName(err) == "missing_scope" || errors.Is(err, slackconn.ErrSamePage) {
			return err
		}
		v, wait := slackconn.Judge(err)
		if v == slackconn.ChannelClosed || v == slackconn.ContentRefused || ctx.Err() != nil {
			return err
		}
		wait = max(wait, delay.Backoff(try, time.Second, time.Minute))
		b.cfg.Log.WarnContext(ctx, "read back from slack", "err", err, "again_in", wait)
		if err := delay.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// keep keeps a bot's message that names the account. Whether it is wafbot's own is checked later: before a first start
// there is none, and who wafbot is need not be known.
func (r *Reading) keep(channel string, m slackconn.HistoryMessage) {
	if meta := m.Metadata(); m.BotID != "" && meta.EventPayload["account"] == r.Account {
		r.posts = append(r.posts, post{m, channel, meta})
	}
}

// take keeps what wafbot's own messages hold that were read.
func (r *Reading) take(ctx context.Context) error {
	if len(r.posts) == 0 {
		return nil
	}
	var self slackconn.Identity
	err := r.bot.persist(ctx, func() (err error) {
		self, err = r.bot.cfg.Slack.Self(ctx)
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range r.posts {
		if p.BotID == self.Bot {
			r.takeOne(p)
			r.noteThread(p)
		}
	}
	for _, reply := range r.worse {
		id := record.AttackID(r.Account, reply.AttackID)
		if card, ok := r.found.Cards[id]; ok {
			card.CardMetadata = card.Worsened(reply)
			r.found.Cards[id] = card
		}
	}
	r.posts = nil
	return nil
}

// noteThread has the thread that a message begins or stands in be read: a channel may show a reply whose thread began before what is read.
func (r *Reading) noteThread(p post) {
	if thread := p.channel + " " + p.Thread; p.Thread != "" && !r.known[thread] {
		r.known[thread] = true
		q := r.whole(p.channel)
		q.Thread = p.Thread
		r.threads = append(r.threads, q)
	}
}

// lately is how old a message is at most that could be posted again: no clock asks for an older one.
const lately = 24 * time.Hour

func (r *Reading) takeOne(p post) {
	now := r.bot.cfg.Clocks.Outside()
	at := slackconn.WrittenAt(p.TS, now)
	if delivery, ok := p.meta.EventPayload["delivery"].(string); ok && p.meta.EventType != card.MetaCard && now.Sub(at) < lately {
		r.found.Delivered[delivery] = record.Place{Channel: p.channel, TS: p.TS}
	}
	switch p.meta.EventType {
	case card.MetaStart:
		if r.found.Began.IsZero() || at.Before(r.found.Began) {
			r.found.Began = at
		}
	case card.MetaCard, card.MetaWorse:
		r.takeAttack(p)
	case card.MetaChange:
		ch, err := change.ReadMetadata(p.meta.EventPayload)
		if err != nil {
			r.bot.cfg.Log.Warn("a change can't be read back", "account", r.Account, "channel", p.channel, "ts", p.TS, "err", err)
		} else if before, twice := r.found.Changes[ch.ID]; !twice || later(p.TS, before.ts) {
			r.found.Changes[ch.ID] = FoundChange{ch, p.channel, p.TS}
		}
	}
}

func (r *Reading) takeAttack(p post) {
	id, facts, ok := card.ReadAttack(r.Account, p.meta.EventPayload)
	if !ok {
		r.bot.cfg.Log.Warn("a card can't be read back", "account", r.Account, "channel", p.channel, "ts", p.TS)
		return
	}
	facts.Channel = p.channel
	if p.meta.EventType == card.MetaWorse {
		r.worse = append(r.worse, facts)
		return
	}
	before, twice := r.found.Cards[id]
	if twice && before.TS != p.TS {
		r.bot.cfg.Log.Warn("an attack has several cards, the newest counts", "account", r.Account, "attack", id, "channel", p.channel)
	}
	if !twice || later(p.TS, before.TS) {
		r.found.Cards[id] = FoundCard{facts, p.TS}
	}
}

// later reports whether one ts is after another: of the same length they sort as text.
func later(ts, than string) bool { return len(ts) > len(than) || len(ts) == len(than) && ts > than }
