package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/commands"
)

// appendAudit numbers an entry and keeps it, and forgets those that are too old.
// KEYS[1] the counter, KEYS[2] the stream; ARGV[1] the entry, ARGV[2] the oldest id to keep. Result: the entry's number.
var appendAudit = redis.NewScript(`
local n = redis.call('INCR', KEYS[1])
redis.call('XADD', KEYS[2], 'MINID', '~', ARGV[2], '*', 'n', n, 'entry', ARGV[1])
return n`)

// Append numbers and keeps an audit entry.
func (s *Store) Append(ctx context.Context, e commands.AuditEntry) (int64, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return 0, fmt.Errorf("write audit entry: %w", err)
	}
	oldest := strconv.FormatInt(max(0, e.At.Add(-s.auditKeep).UnixMilli()), 10)
	n, err := appendAudit.Run(ctx, s.rdb, []string{keyAudited(e.Account), keyAudit(e.Account)}, text, oldest).Int64()
	if err != nil {
		return 0, fmt.Errorf("append audit entry: %w", err)
	}
	return n, nil
}

// Entries are the account's audit entries since then, the newest first.
func (s *Store) Entries(ctx context.Context, account string, since time.Time) ([]commands.AuditEntry, error) {
	from := "-"
	if ms := since.UnixMilli(); ms > 0 {
		from = strconv.FormatInt(ms, 10)
	}
	msgs, err := s.rdb.XRevRange(ctx, keyAudit(account), "+", from).Result()
	if err != nil {
		return nil, fmt.Errorf("read audit log of %s: %w", account, err)
	}
	var all []commands.AuditEntry
	for _, m := range msgs {
		var e commands.AuditEntry
		text, _ := m.Values["entry"].(string)
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return nil, fmt.Errorf("read audit entry %s: %w", m.ID, err)
		}
		number, _ := m.Values["n"].(string)
		if e.N, err = strconv.ParseInt(number, 10, 64); err != nil {
			return nil, fmt.Errorf("read number of audit entry %s: %w", m.ID, err)
		}
		all = append(all, e)
	}
	return all, nil
}
