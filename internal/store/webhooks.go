package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/commands/webhooks"
	"github.com/wafbot/wafbot/internal/record"
)

// Subscriptions says which webhooks want what.
type Subscriptions interface {
	// Wanting are the ids of the webhooks that want an account's events of that name; record.AuditName stands for audit entries.
	Wanting(account, event string) []string
}

// noWebhooks want nothing.
type noWebhooks struct{}

// Wanting implements Subscriptions.
func (noWebhooks) Wanting(string, string) []string { return nil }

// How much waits for a webhook of an account, in bytes of entries, and how long what is said about it is kept: longer than what waits, so that its owner can count
// that as dropped.
const (
	webhookMost = 8 << 20
	webhookFor  = webhooks.WaitsFor + time.Hour
)

// publish has an event or audit entry sent to the webhooks that want it.
func (b *batch) publish(account, name string, entry []byte) {
	for _, id := range b.hooks.Wanting(account, name) {
		kept := b.key(keyWebhookKept, account, id)
		b.do("WEBHOOK", b.key(keyWebhook, account, id), kept, webhookMost, webhookFor.Milliseconds(), entry)
		b.touches(kept)
	}
}

// waitingForWebhook drops what waited for too long, and reads what waits. After DEL a full Redis takes the rest, too.
// KEYS[1] the stream, KEYS[2] what is kept of it, KEYS[3] a key that is never there; ARGV[1] the Unix ms until which all is too old, ARGV[2] how many dropped ones
// were logged, ARGV[3] how many are read. Result: how many were dropped and not logged, how many wait, the oldest of them, and 1 if people are notified, else 0.
var waitingForWebhook = redis.NewScript(`
redis.call('DEL', KEYS[3])
local dropped = math.max(0, tonumber(redis.call('HGET', KEYS[2], 'dropped') or '0') - tonumber(ARGV[2]))
local bytes = tonumber(redis.call('HGET', KEYS[2], 'bytes') or '0')
local old = redis.call('XRANGE', KEYS[1], '-', ARGV[1])
for _, entry in ipairs(old) do
  redis.call('XDEL', KEYS[1], entry[1])
  bytes = bytes - #entry[2][4]
end
dropped = dropped + #old
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('HSET', KEYS[2], 'bytes', bytes, 'dropped', dropped) end
return {dropped, redis.call('XLEN', KEYS[1]), redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[3]), redis.call('HEXISTS', KEYS[2], 'noted')}`)

// Waiting drops what waited for a webhook for too long, and reads what waits, the oldest first. logged is how many dropped ones were logged since: it counts them no more.
func (s *Webhooks) Waiting(ctx context.Context, account, id string, logged int) (q webhooks.Queue, err error) {
	stream := s.key(keyWebhook, account, id)
	keys := []string{stream, s.key(keyWebhookKept, account, id), keyNone(stream)}
	answer, err := waitingForWebhook.Run(ctx, s.rdb, keys, s.clocks.Now().Add(-webhooks.WaitsFor).UnixMilli(), logged, webhooks.AtOnce).Slice()
	if err != nil {
		return q, fmt.Errorf("read what waits for a webhook of %s: %w", account, err)
	}
	dropped, _ := answer[0].(int64)
	waiting, _ := answer[1].(int64)
	entries, _ := answer[2].([]any)
	q.Dropped, q.Waiting, q.Noted = int(dropped), int(waiting), answer[3] == int64(1)
	for _, entry := range entries {
		q.Entries = append(q.Entries, queued(entry))
	}
	return q, nil
}

// Note puts an event into the outbox that people are notified by of what was dropped, and has it sent to webhooks, this one among them: it learns of it when it takes
// events again.
func (s *Webhooks) Note(ctx context.Context, id string, e record.Event) error {
	b, kept := s.batch(), s.key(keyWebhookKept, e.Account, id)
	b.announce(e)
	b.do("HSET", kept, "noted", 1)
	b.do("PEXPIRE", kept, webhookFor.Milliseconds())
	_, err := s.save(ctx, conditions{}, &b, "what was dropped of "+e.Account)
	return err
}

// queued reads an entry of a stream, as scripts answer it: its id, and its fields with their values.
func queued(entry any) (e webhooks.Entry) {
	parts, _ := entry.([]any)
	if len(parts) != 2 {
		return webhooks.Entry{Unreadable: errors.New("no entry of a stream")}
	}
	e.Place, _ = parts[0].(string)
	fields, _ := parts[1].([]any)
	words := make([]string, 4)
	for i := range min(len(words), len(fields)) {
		words[i], _ = fields[i].(string)
	}
	e.At = addedAt(e.Place)
	var kind struct {
		Kind string `json:"kind"`
	}
	if e.Unreadable = json.Unmarshal([]byte(words[3]), &kind); kind.Kind != "" { // audit entries have none
		e.Event = &record.Event{}
		e.Unreadable = json.Unmarshal([]byte(words[3]), e.Event)
		return e
	}
	if e.Unreadable == nil {
		e.Audit = &record.AuditEntry{}
		e.Unreadable = json.Unmarshal([]byte(words[3]), e.Audit)
		e.Audit.N, _ = strconv.ParseInt(words[1], 10, 64)
	}
	return e
}

// doneForWebhook takes an entry off. What is dropped after it is noted again.
// KEYS[1] the stream, KEYS[2] what is kept of it; ARGV[1] the entry's id. Result: 1 if it was there, else 0.
var doneForWebhook = redis.NewScript(`
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not entry then return 0 end
redis.call('XDEL', KEYS[1], ARGV[1])
redis.call('HINCRBY', KEYS[2], 'bytes', -#entry[2][4])
redis.call('HDEL', KEYS[2], 'noted')
return 1`)

// Done takes off what was sent to a webhook.
func (s *Webhooks) Done(ctx context.Context, account, id, place string) error {
	if err := doneForWebhook.Run(ctx, s.rdb, []string{s.key(keyWebhook, account, id), s.key(keyWebhookKept, account, id)}, place).Err(); err != nil {
		return fmt.Errorf("take off what was sent to a webhook of %s: %w", account, err)
	}
	return nil
}
