package apiclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"iter"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"
)

// DefaultApp is the id of the default application in attack records and conditions.
const DefaultApp = -1

// SeveralPaths is the path of a record that has several.
const SeveralPaths = "[multiple]"

// Status is how much of an attack the service stopped, normalised from the spellings it uses.
type Status string

// The statuses. StatusUnknown covers a missing value and one wafbot does not know; Attack.BlockStatus keeps the
// original.
const (
	StatusBlocked    Status = "blocked"
	StatusPartly     Status = "partly"
	StatusNotBlocked Status = "not_blocked"
	StatusUnknown    Status = "unknown"
)

// PassRank ranks a status by how much is let through; known is false if the status doesn't say.
func (s Status) PassRank() (rank int, known bool) {
	rank = slices.Index([]Status{StatusBlocked, StatusPartly, StatusNotBlocked}, s)
	return max(rank, 0), rank >= 0
}

// Attack is one attack record. A record that carries a vulnerability id is an incident.
// Empty strings, zero times and unknown figures were absent, null or unreadable in the service's answer.
type Attack struct {
	ID          string    `json:"id" api:"attackid"` // attackid, the identity: other fields of the same record keep changing
	ClientID    int       `json:"client_id,omitempty" api:"clientid"`
	App         Figure    `json:"app,omitzero" api:"poolid"` // application id; DefaultApp is the default application
	Domain      string    `json:"domain,omitempty" api:"domain"`
	Path        string    `json:"path,omitempty" api:"path"` // can be the literal "[multiple]"
	Method      string    `json:"method,omitempty" api:"method"`
	Parameter   string    `json:"parameter,omitempty" api:"parameter"` // with the tags of its parsers, as POST_login_value
	Type        string    `json:"type,omitempty" api:"type"`           // an open set: sqli, xss, brute, blocked_source, …
	First       time.Time `json:"first,omitzero" api:"first_time"`
	Last        time.Time `json:"last,omitzero" api:"last_time"`
	Hits        Figure    `json:"hits,omitzero" api:"hits"`
	SourceCount Figure    `json:"source_count,omitzero" api:"ip_count"` // the true number of sources; Sources is cut short
	Sources     []Source  `json:"sources,omitempty" api:"ip_top"`       // each once
	Countries   []Source  `json:"countries,omitempty" api:"country_top"`
	StatusCodes []int     `json:"status_codes,omitempty" api:"statuscodes"` // the answers that the application gave, each code once, in order; none: unknown
	VulnID      string    `json:"vuln_id,omitempty" api:"vulnid"`           // "" unless it is an incident
	Threat      Figure    `json:"threat,omitzero" api:"threat"`
	Target      string    `json:"target,omitempty" api:"target"`
	Payloads    Figure    `json:"payloads,omitzero" api:"vectors_count"`     // vectors_count
	BlockStatus string    `json:"block_status,omitempty" api:"block_status"` // as the service wrote it
	State       string    `json:"state,omitempty" api:"state"`               // "falsepositive" when a person set it
}

// Source is one of an attack's busiest sources, or, without an address, the part of its hits that came from a country.
// Several IPv6 addresses of one /64 are one source, whose IP is that network's first address: whoever has one of them
// has all.
type Source struct {
	IP        netip.Addr `json:"ip,omitzero" api:"ip"` // v4-mapped addresses are unmapped
	Hits      Figure     `json:"hits,omitzero" api:"count"`
	Country   string     `json:"country,omitempty" api:"country"`
	Addresses int64      `json:"addresses,omitempty"` // of a /64: how many were listed
}

// Range is what has to be denied to deny the source: one address, or its /64.
func (s Source) Range() netip.Prefix {
	if s.IP.Is6() && s.IP == Net64(s.IP) {
		return netip.PrefixFrom(s.IP, 64)
	}
	return netip.PrefixFrom(s.IP, s.IP.BitLen())
}

// In reports whether all of the source is in a range.
func (s Source) In(p netip.Prefix) bool {
	r := s.Range()
	return p.Bits() <= r.Bits() && p.Contains(r.Addr())
}

// String is the source's address, or its /64 as 2001:db8:5:6::/64.
func (s Source) String() string {
	if r := s.Range(); !r.IsSingleIP() {
		return r.String()
	}
	return s.IP.String()
}

// Net64 is the first address of an IPv6 address's /64, which is the least that a customer gets; of IPv4 the address
// itself.
func Net64(ip netip.Addr) netip.Addr {
	if ip.Is6() {
		return netip.PrefixFrom(ip, 64).Masked().Addr()
	}
	return ip
}

// Listed is how many source addresses the service lists of the attack.
func (a Attack) Listed() (n int64) {
	for _, s := range a.Sources {
		n += max(1, s.Addresses)
	}
	return n
}

// Equal reports whether two records that were read say the same.
func (a Attack) Equal(b Attack) bool { return reflect.DeepEqual(a, b) }

// texts are all of a record's texts but the id.
func (a *Attack) texts() []*string {
	return []*string{&a.Domain, &a.Path, &a.Method, &a.Parameter, &a.Type, &a.VulnID, &a.Target, &a.BlockStatus, &a.State}
}

// Incident reports whether the attack exploited a vulnerability.
func (a Attack) Incident() bool { return a.VulnID != "" }

// Answered is the code of an answer other than an error that the application gave to hits that were not all blocked: a
// success before a redirect. ok is false where no such answer is known.
func (a Attack) Answered() (code int, ok bool) {
	if a.Status() == StatusBlocked {
		return 0, false
	}
	i := slices.IndexFunc(a.StatusCodes, func(code int) bool { return code >= 200 && code < 400 }) // they are in order
	if i < 0 {
		return 0, false
	}
	return a.StatusCodes[i], true
}

// FalsePositive reports whether a person marked the record as no attack.
func (a Attack) FalsePositive() bool { return strings.EqualFold(a.State, "falsepositive") }

// Status is the normalised blocking status.
func (a Attack) Status() Status { return statusOf(a.BlockStatus) }

// statusOf normalises a blocking status as the service writes it.
func statusOf(written string) Status {
	switch strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(written)), "_", " "), "-", " ") {
	case "blocked":
		return StatusBlocked
	case "partially blocked", "partly blocked", "partially", "partial":
		return StatusPartly
	case "monitored", "monitoring", "not blocked":
		return StatusNotBlocked
	}
	return StatusUnknown
}

// Attack types that are results of mitigations, not new threats.
const (
	TypeBlockedSource = "blocked_source"
	TypeVirtualPatch  = "vpatch"
)

// Result reports whether the record only shows a denied source or a virtual patch at work.
func (a Attack) Result() bool { return IsResult(a.Type) }

// IsResult reports whether an attack type is the result of a mitigation.
func IsResult(attackType string) bool {
	return attackType == TypeBlockedSource || attackType == TypeVirtualPatch
}

// How much of a record Brief keeps.
const (
	briefText = 400 // bytes of each text: an attacker's path has no end
	briefList = 10
)

// Brief is the record small enough to be kept as evidence: texts are cut at 400 bytes, lists after 10 items. The id
// stays whole.
func (a Attack) Brief() Attack {
	for _, text := range a.texts() {
		if len(*text) > briefText {
			*text = cut(*text, briefText) + "…"
		}
	}
	a.Sources = slices.Clone(a.Sources[:min(briefList, len(a.Sources))])
	a.Countries = nil // the sources have them
	a.StatusCodes = a.StatusCodes[:min(briefList, len(a.StatusCodes))]
	return a
}

// AttackFilter selects attack records.
type AttackFilter struct {
	From          time.Time // which hit of a record it looks at is not documented
	IncidentsOnly bool
	PageSize      int // records asked for at once; 0: 100
	// Known reports whether the caller has the record whose bytes have that sum. Such a record isn't read again. nil:
	// none.
	Known func(sum uint64) bool `json:"-"`
}

// AttackPage is what one request brought.
type AttackPage struct {
	Attacks []Attack
	Sums    []uint64 // of the bytes of each of Attacks, as long as there is this Client
	Known   []uint64 // the sums of the records that the caller has, which aren't among Attacks
	Bytes   int      // of the answer, after decompression
}

// Attacks lists attack records, the latest hit first, page by page: POST /v1/objects/attack. It may be repeated.
// While it reads, records can move to pages already read or come twice: the identity is Attack.ID.
// An empty list gives one empty page; an error ends the list, but for Foreign: that comes beside the account's own
// records of a page, and those of the pages after it follow.
func (c *Client) Attacks(ctx context.Context, f AttackFilter) iter.Seq2[AttackPage, error] {
	filter, op := map[string]any{"time": since(f.From)}, "list attacks"
	if f.IncidentsOnly {
		filter["!vulnid"], op = nil, "list incidents" // null, and not left out, is what selects them
	}
	pages := c.objects(ctx, query{op: op, kind: "attack", most: cmp.Or(f.PageSize, 100), filter: filter,
		orderBy: "last_time"})
	return func(yield func(AttackPage, error) bool) {
		for p, err := range pages {
			read, notOwn := c.readAttacks(p, f)
			if !yield(read, cmp.Or(err, notOwn)) {
				return
			}
		}
	}
}

// noticeType is the type of records that aren't attacks. The service's own clients leave them out, too.
const noticeType = "warn"

func (c *Client) readAttacks(p page, f AttackFilter) (read AttackPage, notOwn error) {
	read = AttackPage{Attacks: make([]Attack, 0, len(p.items)), Bytes: len(p.body)}
	for _, item := range p.items {
		if !isObject(item) {
			continue
		}
		sum := maphash.Bytes(c.seed, item)
		if f.Known != nil && f.Known(sum) {
			read.Known = append(read.Known, sum)
			continue
		}
		var record struct {
			Attack
			Other string `api:"id"` // the identity where attackid is missing
		}
		if err := c.notOwn(p.call, p.own, decode(item, p.own, &record)); err != nil {
			notOwn = err
			continue
		}
		a := record.Attack
		a.ID = identity(cmp.Or(a.ID, record.Other))
		a.tidy()
		if a.Type != noticeType && (a.Incident() || !f.IncidentsOnly) { // a vulnerability's id that is 0 isn't null
			read.Attacks, read.Sums = append(read.Attacks, a), append(read.Sums, sum)
		}
	}
	return read, notOwn
}

// tidy bounds what was read, and leaves out what isn't what it should be.
func (a *Attack) tidy() {
	if a.VulnID == "0" { // the service also writes 0 for none
		a.VulnID = ""
	}
	for _, text := range a.texts() {
		most := maxText
		if text == &a.Path {
			most = MaxPath
		}
		*text = bounded(*text, most)
	}
	slices.Sort(a.StatusCodes)
	a.StatusCodes = slices.DeleteFunc(slices.Compact(a.StatusCodes),
		func(code int) bool { return code < 100 || code > 599 })
	a.StatusCodes = append([]int(nil), a.StatusCodes...) // without room for those that came twice; nil, as stored, of none
	a.Countries = busiest(a.Countries)
	top, seen := busiest(a.Sources), map[netip.Addr]bool{{}: true} // 192.0.2.1 may also come as ::ffff:192.0.2.1
	a.Sources = nil
	at := map[netip.Addr]int{} // by Net64
	for _, s := range top {
		if seen[s.IP] {
			continue
		}
		seen[s.IP] = true
		i, more := at[Net64(s.IP)]
		if !more {
			at[Net64(s.IP)], a.Sources = len(a.Sources), append(a.Sources, s)
			continue
		}
		had := &a.Sources[i]
		had.IP, had.Addresses = Net64(s.IP), max(1, had.Addresses)+1
		had.Hits = Figure{had.Hits.N + s.Hits.N, had.Hits.Known && s.Hits.Known}
	}
}

// maxTop is how many of its busiest sources an attack is known by: the service cuts its lists, too.
const maxTop = 100

// busiest are those with the most hits, where there are too many.
func busiest(top []Source) []Source {
	if len(top) == 0 {
		return nil // as a stored record has it
	}
	if len(top) > maxTop {
		slices.SortStableFunc(top, func(x, y Source) int { return cmp.Compare(y.Hits.N, x.Hits.N) })
		top = slices.Clone(top[:maxTop])
	}
	for i := range top {
		top[i].Country = cut(top[i].Country, briefText)
	}
	return top
}

// How long texts of an attack record may be, in bytes, to be kept whole.
const (
	MaxPath = 8 << 10 // the limit of web servers by default
	maxText = 1_000
)

// bounded is a text that may be kept of thousands of records. Of one that is too long there are its beginning, its
// length and its hash, so that it equals itself alone. Its length shows that it is cut.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes, SHA-256 %x)", cut(text, most), len(text), sha256.Sum256([]byte(text)))
}

// cut is the beginning of a text: at most so many bytes, and whole characters.
func cut(text string, most int) string { return strings.ToValidUTF8(text[:min(most, len(text))], "") }

// OwnID is the prefix of the ids of wafbot's groups of attacks. No Attack.ID of the service has it.
const OwnID = "storm:"

// maxID is how long an id may be, in bytes: the service's have about 30.
const maxID = 200

// identity is the id of an attack. One that could be taken for wafbot's own, fills a message, or does more than
// stand there, is replaced by its hash.
func identity(id string) string {
	strange := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`<>&"\`, r) }
	if len(id) > maxID || strings.HasPrefix(id, OwnID) || strings.ContainsFunc(id, strange) {
		return fmt.Sprintf("x:%x", sha256.Sum256([]byte(id)))
	}
	return id
}
