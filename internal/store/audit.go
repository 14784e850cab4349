package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/wafbot/wafbot/commands"
)

// Append numbers and keeps an audit entry.
func (s *Store) Append(ctx context.Context, e commands.AuditEntry) (n int64, err error) {
	var b batch
	if err := b.audit(e, s.auditKeep); err != nil {
		return 0, err
	}
	if n, _, err = s.transact(ctx, condition{}, &b); err != nil {
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
