package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// Post is a message to be posted once.
type Post struct {
	Account   string
	Channel   string
	Thread    string // "": not a reply
	Broadcast bool   // a reply that the channel sees too
	Urgent    bool   // it goes ahead of what isn't
	Delivery  string // what makes it this message, whichever replica posts it
	Message   card.Message

	replaces   record.Place   // the message in whose place it is put (chat.update); zero: it is posted
	card       bool           // it is its attack's card from now on
	begunIn    string         // another channel, where the event that the attack began has it posted; "": there is none
	follows    bool           // it is a reply to the first post of its plan
	edits      bool           // it is put in the place of the first post of its plan
	repost     string         // the channel in which the attack's card is posted again first if its thread is gone; "": in none
	otherwise  *Post          // instead, where it can't be posted
	optional   bool           // nothing is lost where it can't be posted
	supersedes []record.Event // say no more than this: they are taken off before it is sent, for the event that it is sent for stays
}

// say is the plan to post something.
func say(posts ...Post) plan { return plan{posts: posts} }

// post is a message about an event, in the event's channel.
func (f facts) post(msg card.Message) Post {
	return Post{Account: f.Account, Channel: f.Channel, Urgent: urgent(f.Event), Delivery: f.ID, Message: msg}
}

// thread is a reply to a card, which only those read who follow it.
func (f facts) thread(under record.Place, msg card.Message) Post {
	p := f.post(msg)
	p.Channel, p.Thread, p.optional = under.Channel, under.TS, true
	return p
}

// underCard is a reply to the card of the event's attack, or goes elsewhere if there is none.
func (f facts) underCard(reply, elsewhere Post) Post {
	if f.Card.TS == "" {
		return elsewhere
	}
	reply.Channel, reply.Thread, reply.otherwise = f.Card.Channel, f.Card.TS, &elsewhere
	return reply
}

// errNowhere marks a channel that can't be posted to.
var errNowhere = errors.New("channel can't be posted to")

const (
	postTries   = 3           // how often one call of postBegun sends at most; its caller comes back later
	recordAgain = time.Second // how long to wait before a delivery is recorded once more
)

// delivered is the outcome of a post.
type delivered struct {
	at    record.Place
	found bool // an earlier attempt had posted it
	done  bool // that is recorded already
}

// sendAll sends the posts of a plan in their order, and returns the outcome of the first.
func (n *Notifier) sendAll(ctx context.Context, f facts, posts []Post) (first delivered, err error) {
	for i, p := range posts {
		if p.follows { // a thread has no threads
			p.Channel, p.Thread = first.at.Channel, first.at.TS
			if f.Card.Channel == p.Channel {
				p.Thread = f.Card.TS
			}
		}
		if p.edits {
			p.replaces = first.at
		}
		d, err := n.send(ctx, f, p)
		if err != nil {
			return first, err
		}
		if i == 0 {
			first = d
		}
	}
	return first, nil
}

// send delivers one post, after it is written down that it is about to be. Where a reply can't be posted, its attack's
// card is posted again first if that is gone and the reply wants it, else the reply goes elsewhere: what must be heard
// isn't lost in an unread thread.
func (n *Notifier) send(ctx context.Context, f facts, p Post) (d delivered, err error) {
	if p.replaces.TS != "" {
		d.at = p.replaces
		return d, n.bringUpToDate(ctx, p)
	}
	begun := f.begun // with the facts
	if begun == nil || p.Delivery != record.CardDelivery(p.Account, f.State.Attack.ID) {
		one, err := n.cfg.Store.Outbox.BeginNotify(ctx, p.Account, p.Delivery, n.cfg.Clocks.Now())
		if err != nil {
			return d, err
		}
		begun = &one
	}
	if begun.Notified { // the event was stored again
		d.at, d.found, d.done = begun.At, true, true
		return d, nil
	}
	t := n.trial(p.Account, p.Delivery, *begun)
	d, err = n.postBegun(ctx, p, t)
	if p.repost != "" && gone(err) {
		at, fault := n.repost(ctx, f, p, !deleted(err))
		switch {
		case fault == nil:
			p.Channel, p.Thread = at.Channel, at.TS
			d, err = n.postBegun(ctx, p, t)
		case !nowhere(fault):
			return d, fault
		}
	}
	switch {
	case !nowhere(err):
		return d, err
	case p.otherwise != nil:
		return n.postBegun(ctx, *p.otherwise, t)
	case p.optional:
		return d, nil
	}
	return d, err
}

// trial is that of a delivery that is about to be posted.
func (n *Notifier) trial(account, id string, begun record.Attempt) *trial {
	var since time.Time // other replicas may post at any time, of an account that isn't owned here
	if q := n.queue(account); q != nil {
		since = q.began
	}
	return n.tried.of(delivery{account, id}, begun, since)
}

// repost posts the card of an attack again because a reply under it failed, and returns where the attack's card is.
func (n *Notifier) repost(ctx context.Context, f facts, reply Post, stands bool) (at record.Place, err error) {
	lost, known, err := n.lostEvent(ctx, reply.Account, f.attack, reply.place(), stands)
	if err == nil && !known {
		err = errNowhere
	}
	if lost.Channel = reply.repost; err == nil {
		err = n.handle(ctx, f.account, lost)
	}
	if err == nil {
		at, err = n.cfg.Store.Cards.Card(ctx, reply.Account, f.attack)
	}
	if err != nil {
		return at, fmt.Errorf("post card of %s again: %w", f.attack, err)
	}
	return at, nil
}

// postBegun posts what was written down as tried.
func (n *Notifier) postBegun(ctx context.Context, p Post, t *trial) (done delivered, err error) {
	if done.at, err = n.verify(ctx, p, t); done.at.TS != "" || err != nil {
		t.posted, done.found = done.at, true
		return done, err
	}
	for _, w := range p.supersedes {
		if _, err := n.cfg.Store.Outbox.Notified(ctx, w, "", "", false); err != nil {
			return done, err
		}
		n.logSaid(w)
		if q := n.queue(p.Account); q != nil {
			q.said(w.ID)
		}
	}
	for try := 1; ; try++ {
		// A stop leaves it its time: what is written down as tried and wasn't sent, the next owner would have to look for.
		if q := n.queue(p.Account); q == nil || !q.slot(p.Channel) {
			slot := func() (time.Duration, error) { return n.postSlot(ctx, p.Channel, p.Urgent) }
			if err := await(ctx, nil, slot); err != nil {
				return done, err
			}
		}
		sent := time.Now()
		done.at, err = n.sendOnce(ctx, p, t.patience())
		if err == nil {
			t.posted = done.at
			n.tried.posted(p, sent)
			n.cfg.Metrics.SlackPosts.Inc()
			return done, nil
		}
		v, wait := slackconn.Judge(err)
		n.cfg.Log.WarnContext(ctx, "post message", "channel", p.Channel, "try", try, "err", err)
		switch v {
		case slackconn.Doubtful:
			return done, n.tried.fail(p, t, sent, err)
		case slackconn.ContentRefused, slackconn.MetadataRefused:
			plainer, ok := n.plainer(slackconn.MethodPost, p.Message, err)
			if !ok {
				return done, err
			}
			p.Message = plainer
			continue // not one of the tries: it becomes no plainer than plain
		case slackconn.ChannelClosed:
			return done, fmt.Errorf("%w: %w", errNowhere, err)
		case slackconn.Forbidden:
			return done, err
		}
		if try >= postTries || wait > mostPause { // else it would hold up what is more urgent
			return done, err
		}
		if err := delay.Sleep(ctx, wait); err != nil {
			return done, err
		}
	}
}

// sendOnce posts a message (chat.postMessage), and waits so long for the answer.
func (n *Notifier) sendOnce(ctx context.Context, p Post, patience time.Duration) (at record.Place, err error) {
	opts := append(p.Message.Options(), slack.MsgOptionMetadata(p.Message.WithDelivery(p.Account, p.Delivery).Metadata))
	if p.Thread != "" {
		opts = append(opts, slack.MsgOptionTS(p.Thread))
		if p.Broadcast {
			opts = append(opts, slack.MsgOptionBroadcast())
		}
	}
	if err := ctx.Err(); err != nil {
		return at, err // of a replica that was paused, the lease is over
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	at.Channel, at.TS, err = n.cfg.Slack.Post(ctx, p.Channel, opts...)
	return at, err
}

// logSaid logs that an event gets no message of its own.
func (n *Notifier) logSaid(e record.Event) {
	n.cfg.Log.Info("superseded: the card or another reply says it", "account", e.Account, "attack", e.Subject,
		"kind", e.Kind)
}

// record takes a delivered event off the outbox, however long Redis is away: it isn't known whether a recording whose
// answer was lost took place, and the event could be posted twice. A message that another replica has posted, too, is
// withdrawn.
func (n *Notifier) record(ctx context.Context, e record.Event, at record.Place, card bool) error {
	for {
		double, err := n.cfg.Store.Outbox.Notified(context.WithoutCancel(ctx), e, at.Channel, at.TS, card) // a stop must not undo what was delivered
		if double {
			n.withdraw(ctx, at)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		n.cfg.Log.ErrorContext(ctx, "record delivery", "account", e.Account, "kind", e.Kind, "err", err)
		if err := delay.Sleep(ctx, recordAgain); err != nil {
			return err
		}
	}
}

// withdraw deletes a message that another replica has posted too (chat.delete).
func (n *Notifier) withdraw(ctx context.Context, at record.Place) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*slackconn.Timeout) // also for a replica whose lease is over
	defer cancel()
	for {
		err := n.cfg.Slack.Delete(ctx, at.Channel, at.TS)
		v, wait := slackconn.Judge(err)
		if err == nil || v == slackconn.ChannelClosed || v == slackconn.Forbidden {
			n.cfg.Log.WarnContext(ctx, "another replica posted this too: withdrew it", "channel", at.Channel, "ts", at.TS,
				"err", err)
			return
		}
		if delay.Sleep(ctx, max(wait, time.Second)) != nil {
			n.cfg.Log.ErrorContext(ctx, "another replica posted this too, and it can't be withdrawn", "channel", at.Channel,
				"ts", at.TS, "err", err)
			return
		}
	}
}
