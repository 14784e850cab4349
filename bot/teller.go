package bot

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/poller"
)

// teller tells what is in the outbox: in each channel one piece of news after another, incidents first.
type teller struct {
	bot *Bot

	mu       sync.Mutex
	channels map[string][]poller.News // what waits, by channel
	known    map[string]time.Time     // ids that wait, or were told lately: an outbox read meanwhile must not bring them again
	wake     chan struct{}
}

func newTeller(b *Bot) *teller {
	return &teller{bot: b, channels: map[string][]poller.News{}, known: map[string]time.Time{}, wake: make(chan struct{})}
}

// outboxEvery is how often the outbox is read for what another process put there.
const outboxEvery = 5 * time.Second

// add puts news into their channels' queues.
func (t *teller) add(news []poller.News) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range news {
		if _, ok := t.known[n.ID]; ok {
			continue
		}
		t.known[n.ID] = time.Time{}
		t.channels[n.Channel] = append(t.channels[n.Channel], n)
	}
	close(t.wake)
	t.wake = make(chan struct{})
}

// run tells until the context ends. What waited in memory is dropped at its end: the outbox has it.
func (t *teller) run(ctx context.Context) error {
	defer t.forget()
	g, ctx := errgroup.WithContext(ctx)
	started := map[string]bool{}
	tick := time.NewTicker(outboxEvery)
	defer tick.Stop()
	t.load(ctx)
	for {
		t.mu.Lock()
		wake := t.wake
		for channel := range t.channels {
			if !started[channel] {
				started[channel] = true
				g.Go(func() error { return t.tellChannel(ctx, channel) })
			}
		}
		t.mu.Unlock()
		select {
		case <-ctx.Done():
			return g.Wait()
		case <-wake:
		case <-tick.C:
			t.load(ctx)
		}
	}
}

func (t *teller) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.channels, t.known = map[string][]poller.News{}, map[string]time.Time{}
}

// load adds what the outbox holds and forgets what was told long ago.
func (t *teller) load(ctx context.Context) {
	for _, a := range t.bot.cfg.Accounts {
		news, err := t.bot.cfg.Memory.Untold(ctx, a.Name)
		if err != nil {
			t.bot.cfg.Log.Warn("read outbox", "account", a.Name, "err", err)
			continue
		}
		if len(news) > 0 {
			t.add(news)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, told := range t.known {
		if !told.IsZero() && time.Since(told) > 2*time.Minute {
			delete(t.known, id)
		}
	}
}

// next takes the most urgent piece of news of a channel; when there is none, the channel that closes at the next change.
func (t *teller) next(channel string) (n poller.News, ok bool, wake <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	queue := t.channels[channel]
	if len(queue) == 0 {
		return poller.News{}, false, t.wake
	}
	i := 0
	for j := range queue {
		if before(queue[j], queue[i]) {
			i = j
		}
	}
	n = queue[i]
	t.channels[channel] = slices.Delete(queue, i, i+1)
	return n, true, nil
}

// before orders news of one channel.
func before(a, b poller.News) bool {
	if a.Rank() != b.Rank() {
		return a.Rank() < b.Rank()
	}
	return a.At.Before(b.At) || a.At.Equal(b.At) && a.Revision < b.Revision
}

func (t *teller) tellChannel(ctx context.Context, channel string) error {
	const most = time.Minute
	pause := time.Second
	for {
		n, ok, wake := t.next(channel)
		if !ok {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-wake:
			}
			continue
		}
		err := t.bot.tell(ctx, n)
		if err == nil {
			t.told(n)
			pause = time.Second
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.again(n, err)
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, most)
	}
}

func (t *teller) told(n poller.News) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[n.ID] = time.Now()
	t.bot.metrics.told.WithLabelValues(string(n.Reason)).Inc()
}

// again puts news back. A channel that can't be posted to gives it to the account's own channel, so that it is never lost.
func (t *teller) again(n poller.News, err error) {
	t.bot.cfg.Log.Error("tell news", "account", n.Account, "reason", n.Reason, "channel", n.Channel, "err", err)
	t.bot.metrics.failed.Inc()
	if a, ok := t.bot.account(n.Account); ok && a.Channel != n.Channel && errors.Is(err, errNowhere) {
		n.Channel = a.Channel
	}
	t.mu.Lock()
	delete(t.known, n.ID)
	t.mu.Unlock()
	t.add([]poller.News{n})
}
