package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
func (f facts) post(e record.Event, msg card.Message) Post {
	return Post{Account: e.Account, Channel: e.Channel, Urgent: urgent(e), Delivery: e.ID, Message: msg}
}

// thread is a reply to a card, which only those read who follow it.
func (f facts) thread(e record.Event, under record.Place, msg card.Message) Post {
	p := f.post(e, msg)
	p.Channel, p.Thread, p.optional = under.Channel, under.TS, true
	return p
}

// underCard is a reply to the card of the event's attack, or goes elsewhere if there is none.
func (f facts) underCard(reply, elsewhere Post) Post {
	if f.card.TS == "" {
		return elsewhere
	}
	reply.Channel, reply.Thread, reply.otherwise = f.card.Channel, f.card.TS, &elsewhere
	return reply
}

// deliverer posts and edits messages, verifies before a resend, and records what was delivered.
type deliverer struct {
	cfg      Config
	queue    func(account string) *queue // nil: another replica owns the account
	others   *trials                     // of deliveries of accounts that have no queue here
	readings *readings

	mu       sync.Mutex
	onTheWay map[string]chan struct{} // messages on their way, by channel
}

// errNowhere marks a channel that can't be posted to.
var errNowhere = errors.New("channel can't be posted to")

const (
	postTries   = 3           // how often one call of postBegun sends at most; its caller comes back later
	recordAgain = time.Second // how long to wait before a delivery is recorded once more
)

// begin writes down that a delivery is about to be posted, unless that was done with its facts; begun tells whether it was posted, and that this is recorded.
func (d *deliverer) begin(ctx context.Context, f facts, p Post) (t *trial, begun record.Attempt, err error) {
	if f.begun != nil && p.Delivery == record.CardDelivery(p.Account, f.shown.Attack.ID) {
		begun = *f.begun
	} else if begun, err = d.cfg.Store.Outbox.BeginNotify(ctx, p.Account, p.Delivery, d.cfg.Clocks.Now()); err != nil {
		return nil, begun, err
	}
	return d.trials(p.Account).of(p.Delivery, begun), begun, nil
}

// trials are those of an account's queue, else those of deliveries that don't go through one.
func (d *deliverer) trials(account string) *trials {
	if q := d.queue(account); q != nil {
		return q.trials
	}
	return d.others
}

// postBegun posts what was written down as tried.
func (d *deliverer) postBegun(ctx context.Context, p Post, t *trial) (done delivered, err error) {
	done.post = p
	if done.at, err = d.verifyEverywhere(ctx, p, t); done.at.TS != "" || err != nil {
		t.posted, done.found = done.at, true
		return done, err
	}
	if err := d.supersede(ctx, p.supersedes); err != nil {
		return done, err
	}
	for try := 1; ; try++ {
		end, err := d.awaitSlot(ctx, p)
		if err != nil {
			return done, err
		}
		sent := time.Now()
		done.at, err = d.sendOnce(ctx, p, t.patience())
		end()
		if err == nil {
			t.posted = done.at
			d.readings.posted(p, sent)
			d.cfg.Metrics.SlackPosts.Inc()
			return done, nil
		}
		v, wait := slackconn.Judge(err)
		d.cfg.Log.WarnContext(ctx, "post message", "channel", p.Channel, "try", try, "err", err)
		switch v {
		case slackconn.Doubtful:
			return done, d.doubt(p, t, sent, err)
		case slackconn.ContentRefused, slackconn.MetadataRefused:
			plainer, ok := d.plainer(slackconn.MethodPost, p.Message, err)
			if !ok {
				return done, err
			}
			p.Message = plainer
			continue // not one of the tries: it becomes no plainer than plain
		case slackconn.NotSent:
			if wait > mostPause {
				return done, err // else it would hold up what is more urgent
			}
			if err := delay.Sleep(ctx, wait); err != nil {
				return done, err
			}
		case slackconn.ChannelClosed:
			return done, fmt.Errorf("%w: %w", errNowhere, err)
		case slackconn.Forbidden:
			return done, err
		}
		if try >= postTries {
			return done, err
		}
	}
}

// sendOnce posts a message (chat.postMessage), and waits so long for the answer.
func (d *deliverer) sendOnce(ctx context.Context, p Post, patience time.Duration) (at record.Place, err error) {
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
	at.Channel, at.TS, err = d.cfg.Slack.Post(ctx, p.Channel, opts...)
	return at, err
}

// supersede takes off what a message says that is about to be sent.
func (d *deliverer) supersede(ctx context.Context, superseded []record.Event) error {
	for _, w := range superseded {
		if _, err := d.cfg.Store.Outbox.Notified(ctx, w, "", "", false); err != nil {
			return err
		}
		d.logSaid(w)
	}
	return nil
}

// logSaid logs that an event gets no message of its own.
func (d *deliverer) logSaid(e record.Event) {
	d.cfg.Log.Info("superseded: the card or another reply says it", "account", e.Account, "attack", e.Attack().ID, "kind", e.Kind)
}

// record takes a delivered event off the outbox, however long Redis is away: it isn't known whether a recording whose answer was lost took
// place, and the event could be posted twice. A message that another replica has posted, too, is withdrawn.
func (d *deliverer) record(ctx context.Context, e record.Event, at record.Place, card bool) error {
	for {
		double, err := d.cfg.Store.Outbox.Notified(context.WithoutCancel(ctx), e, at.Channel, at.TS, card) // a stop must not undo what was delivered
		if double {
			d.withdraw(ctx, at)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		d.cfg.Log.ErrorContext(ctx, "record delivery", "account", e.Account, "kind", e.Kind, "err", err)
		if err := delay.Sleep(ctx, recordAgain); err != nil {
			return err
		}
	}
}

// drop takes an event off the outbox that needs no message of its own.
func (d *deliverer) drop(ctx context.Context, e record.Event) error {
	return d.record(ctx, e, record.Place{}, false)
}

// withdraw deletes a message that another replica has posted too (chat.delete).
func (d *deliverer) withdraw(ctx context.Context, at record.Place) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*slackconn.Timeout) // also for a replica whose lease is over
	defer cancel()
	for {
		err := d.cfg.Slack.Delete(ctx, at.Channel, at.TS)
		v, wait := slackconn.Judge(err)
		if err == nil || v == slackconn.ChannelClosed || v == slackconn.Forbidden {
			d.cfg.Log.WarnContext(ctx, "another replica posted this too: withdrew it", "channel", at.Channel, "ts", at.TS, "err", err)
			return
		}
		if delay.Sleep(ctx, max(wait, time.Second)) != nil {
			d.cfg.Log.ErrorContext(ctx, "another replica posted this too, and it can't be withdrawn", "channel", at.Channel, "ts", at.TS, "err", err)
			return
		}
	}
}
