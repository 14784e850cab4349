package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// Append numbers and stores an audit entry, also if Redis' memory is full.
func (s *Audit) Append(ctx context.Context, e record.AuditEntry) (n int64, err error) {
	b := s.batch(e.Account)
	b.needed = true
	b.audit(&e)
	err = b.save(ctx)
	return b.audited, err
}

// Entries are the account's audit entries since then, the newest first.
func (s *Audit) Entries(ctx context.Context, account string, since time.Time) (all []record.AuditEntry, err error) {
	for e, err := range s.Trail(ctx, account, since) {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	slices.Reverse(all)
	return all, nil
}

// auditEntry reads an entry with its number.
func auditEntry(m redis.XMessage) (e record.AuditEntry, err error) {
	number, _ := m.Values["n"].(string)
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return e, fmt.Errorf("read number of audit entry %s: %w: %w", m.ID, record.ErrBadEntry, err)
	}
	text, _ := m.Values["entry"].(string)
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return record.AuditEntry{N: n}, fmt.Errorf("read audit entry %s: %w: %w", m.ID, record.ErrBadEntry, err)
	}
	e.N = n
	return e, nil
}

// Trail are the account's audit entries since then by its service's clock, the oldest first, read as they are wanted.
func (s *Audit) Trail(ctx context.Context, account string, since time.Time) iter.Seq2[record.AuditEntry, error] {
	return func(yield func(record.AuditEntry, error) bool) {
		from := "-"
		if !since.IsZero() { // entries are numbered by Redis' clock
			since = since.Add(s.clocks.Now().Sub(s.clocks.ServiceNow(account)))
			from = strconv.FormatInt(max(0, since.UnixMilli()), 10)
		}
		for {
			msgs, err := s.rdb.XRangeN(ctx, s.key(keyAudit, account), from, "+", atOnce).Result()
			if err != nil {
				yield(record.AuditEntry{}, fmt.Errorf("read audit log of %s: %w", account, err))
				return
			}
			for _, m := range msgs {
				if !yield(auditEntry(m)) {
					return
				}
				from = "(" + m.ID
			}
			if len(msgs) < atOnce {
				return
			}
		}
	}
}
