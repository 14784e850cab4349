package apiclient

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"time"
)

// listQuery is the body of the listings that are read with POST.
type listQuery struct {
	Filter    map[string]any `json:"filter"`
	Offset    int            `json:"offset"`
	Limit     int            `json:"limit"`
	OrderBy   string         `json:"order_by,omitempty"`
	OrderDesc bool           `json:"order_desc,omitempty"`
}

func (q listQuery) call(op, path string) call {
	return call{op: op, method: http.MethodPost, path: path, body: q, limit: q.Limit}
}

// span is the filter on time: whole seconds, never narrower than asked for; a zero end is open.
func span(from, to time.Time) [][]any {
	begin, end := int64(0), any(nil)
	if !from.IsZero() {
		begin = max(from.Unix(), 0)
	}
	if !to.IsZero() {
		end = to.Add(time.Second - 1).Unix()
	}
	return [][]any{{begin, end}}
}

type page struct {
	items      []any
	size       int // of the answer, in bytes
	serverTime time.Time
	again      bool // the same answer as the one before
}

// pages reads a listing. The offset grows by the items received and only an empty page ends the list: the service may
// cut the limit, which makes a full page look like a short, last one. That costs one more request than stopping at a
// short page. An empty list gives its one empty page, an error ends the list. Each page is of at most so many items:
// of fewer where they are so long that the answer is not read to its end, for attackers write into them.
func (c *Client) pages(ctx context.Context, most int, ask func(clientID, offset, limit int) call) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		clientID, err := c.ClientID(ctx)
		if err != nil {
			yield(page{}, err)
			return
		}
		var guard repetition
		for offset, limit := 0, most; ; {
			k := ask(clientID, offset, limit)
			got, err := c.page(ctx, k, &guard)
			if errors.Is(err, errTooLong) && limit > 1 {
				limit /= 2
				continue
			}
			if err != nil {
				yield(page{}, err)
				return
			}
			if offset > 0 && (len(got.items) == 0 || got.again && len(got.items) < k.limit) {
				return // a short page that comes again is the whole of a list whose service disregards the offset
			}
			if !yield(got, nil) || len(got.items) == 0 {
				return
			}
			offset += len(got.items)
			if got.size < maxAnswer/4 {
				limit = min(2*limit, most)
			}
		}
	}
}

func (c *Client) page(ctx context.Context, k call, guard *repetition) (page, error) {
	ans, err := c.do(ctx, k)
	if err != nil {
		return page{}, err
	}
	items, ok := listed(ans.value)
	if !ok || ans.empty() {
		return page{}, puzzling(k, "answer holds no list")
	}
	times := guard.count(ans.raw)
	if len(items) > 0 && times > 2 {
		return page{}, puzzling(k, "the same page comes again and again")
	}
	return page{items: items, size: len(ans.raw), serverTime: ans.serverTime, again: times > 1}, nil
}

// repetition notices a service that disregards the offset. Twice the same can happen: new records push the list on.
type repetition struct {
	last  []byte
	times int
}

// count is how often the answer has come in a row.
func (r *repetition) count(raw []byte) int {
	if !bytes.Equal(raw, r.last) {
		r.last, r.times = raw, 0
	}
	r.times++
	return r.times
}

// each reads the listing record by record.
func each[T any](pages iter.Seq2[page, error], read func(record) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for p, err := range pages {
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, r := range records(p.items) {
				if !yield(read(r), nil) {
					return
				}
			}
		}
	}
}

// object is the one object in an answer, be it bare, in the envelope or alone in a list; nil when there is none.
func object(v any) record {
	if list, ok := listed(v); ok && len(list) > 0 {
		v = list[0]
	}
	o, _ := unwrap(v).(map[string]any)
	return o
}
