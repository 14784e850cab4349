package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// query says which of the service's objects to list.
type query struct {
	op      string // for errors
	kind    string // of the objects, as their path has it
	most    int    // that are asked for at once
	filter  map[string]any
	orderBy string // a field, the highest value first; "": none
}

// objects reads a listing: POST /v1/objects/{kind}.
func (c *Client) objects(ctx context.Context, q query) iter.Seq2[page, error] {
	return c.pages(ctx, q.most, func(clientID, offset, limit int) call {
		filter := map[string]any{"clientid": []int{clientID}}
		maps.Copy(filter, q.filter)
		body := map[string]any{"filter": filter, "offset": offset, "limit": limit}
		if q.orderBy != "" {
			body["order_by"], body["order_desc"] = q.orderBy, true
		}
		return call{op: q.op, method: http.MethodPost, path: "/v1/objects/" + q.kind, body: body}
	})
}

// Collect reads a listing to its end. After an error it returns nothing else.
func Collect[T any](listing iter.Seq2[T, error]) (all []T, err error) {
	for item, err := range listing {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// since is the filter on time, in whole seconds: from then on.
func since(from time.Time) [][]any { return [][]any{{max(from.Unix(), 0), nil}} }

// How long a listing may be, that no service which lists without end fills the memory.
const (
	maxListed      = 200_000 // items
	maxListedBytes = 256 << 20
)

type page struct {
	items []json.RawMessage
	body  []byte // that holds them
	times int    // how often the same answer has come in a row
	call  call
	own   int // the account's client id
}

// pages reads a listing. The offset grows by the items received and only an empty page ends the list: the service may
// cut the limit, which makes a full page look like a short, last one. That costs one more request than stopping at a
// short page. An empty list gives its one empty page, an error ends the list. Each page is of at most so many items:
// of fewer where they are so long that the answer is not read to its end, for attackers write into them. A single item
// that is too long is skipped; where it is, the next reading knows.
func (c *Client) pages(ctx context.Context, most int,
	ask func(clientID, offset, limit int) call) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		clientID, err := c.account(ctx)
		if err != nil {
			yield(page{}, err)
			return
		}
		got, listing, read := page{own: clientID}, ask(clientID, 0, most).op, 0 // bytes
		var skipped []int
		for offset, limit, before := 0, most, c.skips(listing); ; {
			if offset > maxListed || read > maxListedBytes {
				why := fmt.Sprintf("the list goes on after %d records and %d MiB: it is not read any further", offset, read>>20)
				yield(page{}, puzzling(ask(clientID, offset, limit), why))
				return
			}
			if i := slices.IndexFunc(before, func(at int) bool { return at >= offset }); i >= 0 {
				limit = min(limit, max(before[i]-offset, 1))
			}
			got, err = c.page(ctx, ask(clientID, offset, limit), got)
			if errors.Is(err, errTooLong) {
				if read += maxAnswer; limit > 1 {
					limit /= 2
					continue
				}
				skipped = append(skipped, offset)
				c.skip(listing, skipped, before)
				offset++
				continue
			}
			if err != nil {
				yield(page{}, err)
				return
			}
			// a short page that comes again is the whole of a list whose service disregards the offset
			last := len(got.items) == 0 || got.times > 1 && len(got.items) < limit
			if last {
				c.skipped.Store(listing, skipped)
			}
			if offset > 0 && last || !yield(got, nil) || last {
				return
			}
			offset, read = offset+len(got.items), read+len(got.body)
			if len(got.body) < maxAnswer/4 {
				limit = min(2*limit, most)
			}
		}
	}
}

// page reads one page. It fails if a service that disregards the offset gives the same page for the third time. Twice
// can happen: new records push the list on.
func (c *Client) page(ctx context.Context, k call, before page) (page, error) {
	ans, err := c.do(ctx, k)
	if err != nil {
		return before, err
	}
	items, ok := listed(ans.body)
	switch {
	case !ok:
		return before, puzzling(k, "answer holds no list")
	case len(items) > maxItems:
		return before, puzzling(k, fmt.Sprintf("answer holds more than %d records", maxItems))
	}
	p := page{items: items, body: ans.body, times: 1, call: k, own: before.own}
	if bytes.Equal(p.body, before.body) {
		p.times += before.times
	}
	if len(items) > 0 && p.times > 2 {
		return before, puzzling(k, "the same page comes again and again")
	}
	return p, nil
}

// each reads the listing record by record: the items that are objects. A record of another client ends it with an
// error.
func each[T any](c *Client, pages iter.Seq2[page, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for p, err := range pages {
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range p.items {
				if !isObject(item) {
					continue
				}
				record := none
				if err := c.notOwn(p.call, p.own, decode(item, p.own, &record)); err != nil {
					yield(none, err)
					return
				}
				if !yield(record, nil) {
					return
				}
			}
		}
	}
}

// Foreign is how many records of other clients the service's answers held. They are dropped, and their listing or
// change fails with Foreign.
func (c *Client) Foreign() int64 { return c.foreign.Load() }

// notOwn is the error of a record that names another client than the account's; nil: it is the account's, or names
// none.
func (c *Client) notOwn(k call, own int, foreign int64) error {
	if foreign == 0 {
		return nil
	}
	c.foreign.Add(1)
	c.forget()
	why := fmt.Sprintf("a record of client %d came for client %d", foreign, own)
	return &Error{Op: k.op, Kind: Foreign, Message: why, OutcomeUnknown: k.effect != reading}
}

// TooLong names the records that the listings last skipped because each alone makes an answer too long; "" if there
// are none.
func (c *Client) TooLong() string {
	var all []string
	c.skipped.Range(func(listing, places any) bool {
		for _, at := range places.([]int) { //nolint:forcetypeassert // skip puts them in
			all = append(all, fmt.Sprintf("%s: record %d", listing, at+1))
		}
		return true
	})
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// skips are where the records of a listing are that were too long when it was last read.
func (c *Client) skips(listing string) []int {
	places, _ := c.skipped.Load(listing)
	known, _ := places.([]int)
	return known
}

// skip notes where these records are, and logs the last one if it wasn't there before.
func (c *Client) skip(listing string, places, before []int) {
	if last := places[len(places)-1]; !slices.Contains(before, last) {
		c.log.Warn("a record is too long to be read: it is skipped", "call", listing, "record", last+1)
	}
	c.skipped.Store(listing, places)
}
