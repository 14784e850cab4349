package apiclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// AttackFilter selects attack records.
type AttackFilter struct {
	From, To      time.Time // which hit of a record it looks at is not documented; a zero To is open
	IncidentsOnly bool
	PageSize      int // records asked for at once; 0: 100
}

// AttackPage is what one request brought.
type AttackPage struct {
	Attacks    []Attack
	ServerTime time.Time // on the service's clock when it answered; zero when unknown
}

// Attacks lists attack records, the latest hit first, page by page: POST /v1/objects/attack. It may be repeated.
// While it reads, records can move to pages already read or come twice: the identity is Attack.ID.
// An empty list gives one empty page, so that the service's time is always known; an error ends the list.
func (c *Client) Attacks(ctx context.Context, f AttackFilter) iter.Seq2[AttackPage, error] {
	if f.PageSize <= 0 {
		f.PageSize = 100
	}
	pages := c.pages(ctx, f.PageSize, func(clientID, offset, limit int) call {
		filter := map[string]any{"clientid": []int{clientID}, "time": span(f.From, f.To)}
		if f.IncidentsOnly {
			filter["!vulnid"] = nil // null, and not left out, is what selects incidents
		}
		q := listQuery{Filter: filter, Offset: offset, Limit: limit, OrderBy: "last_time", OrderDesc: true}
		return q.call("list attacks", "/v1/objects/attack")
	})
	return func(yield func(AttackPage, error) bool) {
		for p, err := range pages {
			if !yield(AttackPage{Attacks: readAttacks(p.items), ServerTime: p.serverTime}, err) {
				return
			}
		}
	}
}

func readAttacks(items []any) []Attack {
	out := make([]Attack, 0, len(items))
	for _, r := range records(items) {
		out = append(out, readAttack(r))
	}
	return out
}

func readAttack(r record) Attack {
	a := Attack{
		ID:          identity(r["attackid"]),
		ClientID:    int(r.id("clientid")),
		App:         r.app("poolid"),
		Domain:      r.bounded("domain"),
		Path:        bounded(r.text("path"), MaxPath),
		Method:      r.bounded("method"),
		Parameter:   r.bounded("parameter"),
		Type:        r.bounded("type"),
		First:       r.time("first_time"),
		Last:        r.time("last_time"),
		Hits:        r.figure("hits"),
		SourceCount: r.figure("ip_count"),
		StatusCodes: r.ints("statuscodes"),
		VulnID:      bounded(joined(r["vulnid"]), maxText),
		Threat:      r.figure("threat"),
		Target:      r.bounded("target"),
		Payloads:    r.figure("vectors_count"),
		BlockStatus: r.bounded("block_status"),
		State:       r.bounded("state"),
	}
	if a.ID == "" {
		a.ID = identity(r["id"])
	}
	for _, s := range busiest(r.list("ip_top")) {
		if ip, err := netip.ParseAddr(s.text("ip")); err == nil {
			a.Sources = append(a.Sources, Source{IP: ip.Unmap().WithZone(""), Hits: s.figure("count"), Country: country(s)})
		}
	}
	for _, s := range busiest(r.list("country_top")) {
		a.Countries = append(a.Countries, CountryShare{Country: country(s), Hits: s.figure("count")})
	}
	return a
}

// How long texts of an attack record may be, in bytes, to be kept whole.
const (
	MaxPath = 8 << 10 // the limit of web servers by default
	maxText = 1_000
)

// bounded is a text that may be kept of thousands of records. Of one that is too long there are its beginning, its length and its hash, so that it
// equals itself alone. Its length shows that it is cut.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes, SHA-256 %x)", strings.ToValidUTF8(text[:most], ""), len(text), sha256.Sum256([]byte(text)))
}

func (r record) bounded(key string) string { return bounded(r.text(key), maxText) }

// maxTop is how many of its busiest sources an attack is known by: the service cuts its lists, too.
const maxTop = 100

// busiest are a list's records with the highest counts, where it has too many.
func busiest(list []any) []record {
	top := records(list)
	if len(top) > maxTop {
		slices.SortStableFunc(top, func(x, y record) int { return cmp.Compare(y.figure("count").N, x.figure("count").N) })
		top = top[:maxTop]
	}
	return top
}

// country is a record's, cut: no country's code is long.
func country(r record) string {
	name := r.text("country")
	return strings.ToValidUTF8(name[:min(briefText, len(name))], "")
}

// OwnID is the prefix of the ids of wafbot's groups of attacks. No Attack.ID of the service has it.
const OwnID = "storm:"

// maxID is how long an id may be, in bytes: the service's have about 30.
const maxID = 200

// identity reads the id of an attack. One that could be taken for wafbot's own, fills a message, or does more than stand there, is replaced by its hash.
func identity(v any) string {
	id := joined(v)
	strange := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`<>&"\`, r) }
	if len(id) > maxID || strings.HasPrefix(id, OwnID) || strings.ContainsFunc(id, strange) {
		return fmt.Sprintf("x:%x", sha256.Sum256([]byte(id)))
	}
	return id
}
