package commands_test

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/internal/record"
)

// requests keeps requests as JSON. It is the same store as the ledger, and fails with it.
type requests struct{ *ledger }

func (r *requests) Requests(_ context.Context, account string) ([]record.ApprovalRequest, error) {
	if r.fails(&r.readFail) {
		return nil, errAway
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []record.ApprovalRequest
	for key, text := range r.kept {
		var q record.ApprovalRequest
		if !strings.HasPrefix(key, "request ") {
			continue
		}
		if err := json.Unmarshal([]byte(text), &q); err != nil {
			return nil, err
		}
		if q.Account == account {
			all = append(all, q)
		}
	}
	slices.SortFunc(all, func(a, b record.ApprovalRequest) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

func (l *saver) SaveRequest(ctx context.Context, entry *record.AuditEntry, q record.ApprovalRequest, events ...record.Event) (n int64, err error) {
	return l.writeAudited(ctx, entry, l.kept, map[string]any{"request " + q.ID: q}, events...)
}

// request is the newest request.
func (w *world) request() record.ApprovalRequest {
	w.t.Helper()
	all, err := w.asked.Requests(w.t.Context(), "acme")
	if err != nil || len(all) == 0 {
		w.t.Fatalf("no request: %v", err)
	}
	return all[0]
}
