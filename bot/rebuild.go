package bot

import (
	"context"
	"fmt"
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
	Peek     bool      // only whether there is anything: stop at the first message that names the account
}

// Found is what the metadata of an account's messages in Slack hold.
type Found struct {
	Any        bool                   // a bot's message names the account; whether it is wafbot's own a peek leaves open
	Began      time.Time              // when its first start was posted; zero: no message of that was found
	Cards      map[string]FoundCard   // by the attack's id, as people type it; of several the newest
	Changes    map[string]FoundChange // by id, as posted last
	Unread     []string               // ids of channels that can't be read
	Unreadable bool                   // none of them can
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

// ReadHistory reads what an account's messages hold. It goes on for as long as it takes, however often Slack limits it or doesn't answer: it fails
// only with its context. A channel that can't be read is left out, and named. Only wafbot's own messages count.
func (b *Bot) ReadHistory(ctx context.Context, h History) (Found, error) {
	r := reader{History: h, cfg: &b.cfg, found: Found{Cards: map[string]FoundCard{}, Changes: map[string]FoundChange{}}}
	for _, channel := range h.Channels {
		err := r.channel(ctx, channel)
		if ctx.Err() != nil {
			return Found{}, ctx.Err()
		}
		if err != nil {
			b.cfg.Log.Error("read channel back", "account", h.Account, "channel", channel, "err", err)
			r.found.Unread = append(r.found.Unread, channel)
		}
	}
	r.found.Any, r.found.Unreadable = len(r.posts) > 0, len(r.found.Unread) == len(h.Channels)
	if h.Peek || !r.found.Any {
		return r.found, nil
	}
	var self slackconn.Identity
	err := r.persist(ctx, func() (err error) {
		self, err = b.cfg.Slack.Self(ctx)
		return err
	})
	if err != nil {
		return Found{}, err
	}
	for _, p := range r.posts {
		if p.BotID == self.Bot {
			r.take(p)
		}
	}
	for _, reply := range r.worse {
		id := record.AttackID(h.Account, reply.AttackID)
		if card, ok := r.found.Cards[id]; ok {
			card.CardMetadata = card.Worsened(reply)
			r.found.Cards[id] = card
		}
	}
	return r.found, nil
}

// reader reads what one account's messages hold.
type reader struct {
	History
	cfg   *Config
	posts []post // that name the account, wafbot's own or not
	found Found
	worse []record.CardMetadata // of replies
}

// post is a message with metadata like wafbot's.
type post struct {
	slackconn.HistoryMessage
	channel string
	meta    slack.SlackMetadata
}

// channel reads a channel and the threads of messages that name the account. The channel may show a reply whose thread began before what is read.
func (r *reader) channel(ctx context.Context, channel string) error {
	threads := map[string]bool{}
	queries := []slackconn.HistoryQuery{{Channel: channel, Oldest: fmt.Sprintf("%d.000000", r.Oldest.Unix())}}
	for len(queries) > 0 && !r.peeked() {
		q := queries[0]
		queries = queries[1:]
		var messages []slackconn.HistoryMessage
		var next string
		err := r.persist(ctx, func() (err error) {
			messages, next, err = r.cfg.Slack.History(ctx, q)
			return err
		})
		if err != nil && (q.Thread == "" || slackconn.ErrorName(err) != "thread_not_found") { // else its card was deleted meanwhile
			return fmt.Errorf("read history of %s: %w", channel, err)
		}
		for _, m := range messages {
			if r.keep(channel, m) && q.Thread == "" && m.Thread != "" && !threads[m.Thread] {
				threads[m.Thread] = true
				queries = append(queries, slackconn.HistoryQuery{Channel: channel, Thread: m.Thread, Oldest: q.Oldest})
			}
		}
		if q.Cursor = next; next != "" {
			queries = append(queries, q)
		}
	}
	return nil
}

func (r *reader) peeked() bool { return r.Peek && len(r.posts) > 0 }

// persist asks Slack until it answers, waiting as long as it says and longer each time. It returns an error that no waiting changes, or the context's.
func (r *reader) persist(ctx context.Context, ask func() error) error {
	for try := 0; ; try++ {
		err := ask()
		if err == nil || slackconn.ErrorName(err) == "missing_scope" {
			return err
		}
		v, wait := slackconn.Judge(err)
		if v == slackconn.ChannelClosed || v == slackconn.ContentRefused || ctx.Err() != nil {
			return err
		}
		wait = max(wait, delay.Backoff(try, time.Second, time.Minute))
		r.cfg.Log.Warn("read back from slack", "err", err, "again_in", wait)
		if err := delay.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// keep keeps a bot's message that names the account, and reports whether it does. Whether it is wafbot's own is checked later: before a first start
// there is none, and who wafbot is need not be known.
func (r *reader) keep(channel string, m slackconn.HistoryMessage) bool {
	meta := m.Metadata()
	if m.BotID == "" || meta.EventPayload["account"] != r.Account {
		return false
	}
	r.posts = append(r.posts, post{m, channel, meta})
	return true
}

// take keeps what one of wafbot's own messages holds.
func (r *reader) take(p post) {
	switch p.meta.EventType {
	case card.MetaStart:
		if at := slackconn.WrittenAt(p.TS, r.cfg.Clocks.Outside()); r.found.Began.IsZero() || at.Before(r.found.Began) {
			r.found.Began = at
		}
	case card.MetaCard, card.MetaWorse:
		r.takeAttack(p)
	case card.MetaChange:
		ch, err := change.ReadMetadata(p.meta.EventPayload)
		if err != nil {
			r.cfg.Log.Warn("a change can't be read back", "account", r.Account, "channel", p.channel, "ts", p.TS, "err", err)
		} else if before, twice := r.found.Changes[ch.ID]; !twice || later(p.TS, before.ts) {
			r.found.Changes[ch.ID] = FoundChange{ch, p.channel, p.TS}
		}
	}
}

func (r *reader) takeAttack(p post) {
	id, facts, ok := card.ReadAttack(r.Account, p.meta.EventPayload)
	if !ok {
		r.cfg.Log.Warn("a card can't be read back", "account", r.Account, "channel", p.channel, "ts", p.TS)
		return
	}
	facts.Channel = p.channel
	if p.meta.EventType == card.MetaWorse {
		r.worse = append(r.worse, facts)
		return
	}
	before, twice := r.found.Cards[id]
	if twice && before.TS != p.TS {
		r.cfg.Log.Warn("an attack has several cards, the newest counts", "account", r.Account, "attack", id, "channel", p.channel)
	}
	if !twice || later(p.TS, before.TS) {
		r.found.Cards[id] = FoundCard{facts, p.TS}
	}
}

// later reports whether one ts is after another: of the same length they sort as text.
func later(ts, than string) bool { return len(ts) > len(than) || len(ts) == len(than) && ts > than }
