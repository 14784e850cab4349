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

// Back says what to read back.
type Back struct {
	Account  string
	Channels []string
	Oldest   time.Time // threads are read as far as they go
	Peek     bool      // only whether there is anything: stop at the first message that names the account
}

// Found is what an account's messages in Slack tell of it.
type Found struct {
	Spoken  bool                   // some bot's message names the account; whether it is wafbot's own a peek leaves open
	Began   time.Time              // when its first start was told; zero: no message of that was found
	Cards   map[string]FoundCard   // by the attack's id, as people type it; of several the newest
	Changes map[string]FoundChange // by id, as it was told last
	Unread  []string               // ids of channels that can't be read
	Blind   bool                   // none of them can
}

// FoundCard is an attack's card, with what it and the replies under it told.
type FoundCard struct {
	record.CardMetadata
	TS string
}

// FoundChange is a change and where it was told.
type FoundChange struct {
	record.Change
	Channel string
	ts      string
}

// Nothing reports whether the account has never told anything, as far as can be seen.
func (f Found) Nothing() bool { return f.Began.IsZero() && len(f.Cards)+len(f.Changes) == 0 }

// ReadBack reads what an account's messages tell. It goes on for as long as it takes, however often Slack says that it is too much, or doesn't
// answer: it fails only with its context. A channel that can't be read is left out, and named. Only wafbot's own messages count, whatever
// others carry.
func (b *Bot) ReadBack(ctx context.Context, back Back) (Found, error) {
	r := reader{Back: back, bot: b, found: Found{Cards: map[string]FoundCard{}, Changes: map[string]FoundChange{}}}
	for _, channel := range back.Channels {
		if r.peeked() {
			break
		}
		err := r.channel(ctx, channel)
		if ctx.Err() != nil {
			return Found{}, ctx.Err()
		}
		if err != nil {
			b.cfg.Log.Error("read channel back", "account", back.Account, "channel", channel, "err", err)
			r.found.Unread = append(r.found.Unread, channel)
		}
	}
	r.found.Spoken, r.found.Blind = len(r.posts) > 0, len(r.found.Unread) == len(back.Channels)
	if back.Peek || !r.found.Spoken {
		return r.found, nil
	}
	var self slackconn.Identity
	err := b.persist(ctx, func() (err error) {
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
	r.findWorse()
	return r.found, nil
}

// persist asks Slack until it answers, waiting as long as it says and longer each time. An error is one that no waiting mends, or the context's.
func (b *Bot) persist(ctx context.Context, ask func() error) error {
	const most = time.Minute
	for try := 0; ; try++ {
		err := ask()
		if err == nil || slackconn.ErrorName(err) == "missing_scope" {
			return err
		}
		v, wait := slackconn.Judge(err)
		if v == slackconn.ChannelClosed || v == slackconn.ContentRefused || ctx.Err() != nil {
			return err
		}
		wait = max(wait, delay.Backoff(try, time.Second, most))
		b.cfg.Log.Warn("read back from slack", "err", err, "again_in", wait)
		if err := delay.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// reader reads back what one account's messages tell.
type reader struct {
	Back
	bot   *Bot
	posts []post // that name the account, whosever they are
	found Found
	worse []FoundCard // replies
}

// post is a message that carries something of wafbot's form.
type post struct {
	slackconn.HistoryMessage
	channel string
	meta    slack.SlackMetadata
}

// channel reads what a channel shows, and every thread that wafbot took part in there.
func (r *reader) channel(ctx context.Context, channel string) error {
	threads := map[string]bool{}
	err := r.pages(ctx, slackconn.HistoryQuery{Channel: channel}, func(m slackconn.HistoryMessage) {
		if r.keep(channel, m) && m.Thread != "" {
			threads[m.Thread] = true // of a reply that the channel shows too the card may be older than what is read
		}
	})
	if err != nil {
		return err
	}
	if r.peeked() {
		return nil
	}
	for thread := range threads {
		err := r.pages(ctx, slackconn.HistoryQuery{Channel: channel, Thread: thread}, func(m slackconn.HistoryMessage) { r.keep(channel, m) })
		if err != nil && slackconn.ErrorName(err) != "thread_not_found" { // its card was deleted meanwhile
			return err
		}
	}
	return nil
}

func (r *reader) peeked() bool { return r.Peek && len(r.posts) > 0 }

// keep keeps a message that names the account, as anybody's may, and reports whether it does. Whether it is wafbot's own is looked at when
// there are any: before a first start nobody need know who wafbot is.
func (r *reader) keep(channel string, m slackconn.HistoryMessage) bool {
	meta := m.Metadata()
	if m.BotID == "" || meta.EventPayload["account"] != r.Account {
		return false
	}
	r.posts = append(r.posts, post{m, channel, meta})
	return true
}

func (r *reader) pages(ctx context.Context, q slackconn.HistoryQuery, take func(slackconn.HistoryMessage)) error {
	q.Oldest = fmt.Sprintf("%d.000000", r.Oldest.Unix())
	for {
		var msgs []slackconn.HistoryMessage
		var next string
		err := r.bot.persist(ctx, func() (err error) {
			msgs, next, err = r.bot.cfg.Slack.History(ctx, q)
			return err
		})
		if err != nil {
			return fmt.Errorf("read history of %s: %w", q.Channel, err)
		}
		for _, m := range msgs {
			take(m)
		}
		if next == "" || r.peeked() {
			return nil
		}
		q.Cursor = next
	}
}

// take keeps what one of wafbot's own messages tells.
func (r *reader) take(p post) {
	switch p.meta.EventType {
	case card.MetaStart:
		if at := slackconn.WrittenAt(p.TS, r.bot.cfg.Now()); r.found.Began.IsZero() || at.Before(r.found.Began) {
			r.found.Began = at
		}
	case card.MetaCard, card.MetaWorse:
		r.takeAttack(p)
	case card.MetaChange:
		r.takeChange(p)
	}
}

func (r *reader) takeAttack(p post) {
	id, facts, ok := card.ReadAttack(r.Account, p.meta.EventPayload)
	if !ok {
		r.bot.cfg.Log.Warn("a card can't be read back", "account", r.Account, "channel", p.channel, "ts", p.TS)
		return
	}
	facts.Channel = p.channel
	attackCard := FoundCard{facts, p.TS}
	if p.meta.EventType == card.MetaWorse {
		r.worse = append(r.worse, attackCard)
		return
	}
	before, twice := r.found.Cards[id]
	if twice && before.TS != p.TS {
		r.bot.cfg.Log.Warn("an attack has several cards, the newest counts", "account", r.Account, "attack", id, "channel", p.channel)
	}
	if !twice || later(p.TS, before.TS) {
		r.found.Cards[id] = attackCard
	}
}

func (r *reader) takeChange(p post) {
	ch, err := change.ReadMetadata(p.meta.EventPayload)
	if err != nil {
		r.bot.cfg.Log.Warn("a change can't be read back", "account", r.Account, "channel", p.channel, "ts", p.TS, "err", err)
		return
	}
	if before, twice := r.found.Changes[ch.ID]; !twice || later(p.TS, before.ts) {
		r.found.Changes[ch.ID] = FoundChange{ch, p.channel, p.TS}
	}
}

// findWorse adds to each card what the replies under it told.
func (r *reader) findWorse() {
	for _, reply := range r.worse {
		id := record.AttackID(r.Account, reply.AttackID)
		if card, ok := r.found.Cards[id]; ok {
			card.CardMetadata = card.Worsened(reply.CardMetadata)
			r.found.Cards[id] = card
		}
	}
}

// later reports whether one ts is after another: of the same length they sort as text.
func later(ts, than string) bool { return len(ts) > len(than) || len(ts) == len(than) && ts > than }
