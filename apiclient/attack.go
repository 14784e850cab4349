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
	"unicode"

	"github.com/wafbot/wafbot/internal/text"
)

// DefaultApp is the id of the default application in attack records and conditions.
const DefaultApp = -1

// Figure is a count that the service may not have given. The zero value is unknown, which is not zero.
type Figure struct {
	N     int64 `json:"n,omitempty"`
	Known bool  `json:"known,omitempty"`
}

// Known returns the figure n.
func Known(n int64) Figure { return Figure{N: n, Known: true} }

// String is the number with thousands separated by commas, or "unknown".
func (f Figure) String() string {
	if !f.Known {
		return "unknown"
	}
	return text.Number(f.N)
}

// Status is how much of an attack the service stopped, normalised from the spellings it uses.
type Status string

// The statuses. StatusUnknown covers a missing value and one wafbot does not know; Attack.BlockStatus keeps the original.
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
	ID          string         `json:"id"` // attackid, the identity: other fields of the same record keep changing
	ClientID    int            `json:"client_id,omitempty"`
	App         Figure         `json:"app"` // application id; DefaultApp is the default application
	Domain      string         `json:"domain,omitempty"`
	Path        string         `json:"path,omitempty"` // can be the literal "[multiple]"
	Method      string         `json:"method,omitempty"`
	Parameter   string         `json:"parameter,omitempty"` // with the tags of its parsers, as POST_login_value
	Type        string         `json:"type,omitempty"`      // an open set: sqli, xss, brute, blocked_source, …
	First       time.Time      `json:"first,omitzero"`
	Last        time.Time      `json:"last,omitzero"`
	Hits        Figure         `json:"hits"`
	SourceCount Figure         `json:"source_count"`      // the true number of sources; Sources is cut short
	Sources     []Source       `json:"sources,omitempty"` // each once
	Countries   []CountryShare `json:"countries,omitempty"`
	StatusCodes []int          `json:"status_codes,omitempty"`
	VulnID      string         `json:"vuln_id,omitempty"` // "" unless it is an incident
	Threat      Figure         `json:"threat"`
	Target      string         `json:"target,omitempty"`
	Payloads    Figure         `json:"payloads"`               // vectors_count
	BlockStatus string         `json:"block_status,omitempty"` // as the service wrote it
	State       string         `json:"state,omitempty"`        // "falsepositive" when a person set it
}

// Source is one of an attack's busiest sources.
type Source struct {
	IP      netip.Addr `json:"ip"` // v4-mapped addresses are unmapped
	Hits    Figure     `json:"hits"`
	Country string     `json:"country,omitempty"`
}

// CountryShare is the part of an attack's hits that came from one country.
type CountryShare struct {
	Country string `json:"country"`
	Hits    Figure `json:"hits"`
}

// Incident reports whether the attack exploited a vulnerability.
func (a Attack) Incident() bool { return a.VulnID != "" }

// FalsePositive reports whether a person marked the record as no attack.
func (a Attack) FalsePositive() bool { return strings.EqualFold(a.State, "falsepositive") }

// Status is the normalised blocking status.
func (a Attack) Status() Status {
	spaced := func(r rune) rune {
		if r == '_' || r == '-' {
			return ' '
		}
		return unicode.ToLower(r)
	}
	switch strings.Map(spaced, strings.TrimSpace(a.BlockStatus)) {
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
func (a Attack) Result() bool { return a.Type == TypeBlockedSource || a.Type == TypeVirtualPatch }

// How much of a record Brief keeps.
const (
	briefText = 400 // bytes of each text: an attacker's path has no end
	briefList = 10
)

// Brief is the record small enough to be kept as evidence: texts are cut at 400 bytes, lists after 10 items. The id stays whole.
func (a Attack) Brief() Attack {
	for _, text := range []*string{&a.Domain, &a.Path, &a.Method, &a.Parameter, &a.Type, &a.VulnID, &a.Target, &a.BlockStatus, &a.State} {
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
	filter := map[string]any{"time": since(f.From)}
	if f.IncidentsOnly {
		filter["!vulnid"] = nil // null, and not left out, is what selects incidents
	}
	pages := c.objects(ctx, query{op: "list attacks", kind: "attack", most: cmp.Or(f.PageSize, 100), filter: filter, orderBy: "last_time"})
	return func(yield func(AttackPage, error) bool) {
		for p, err := range pages {
			read := make([]Attack, 0, len(p.items))
			for _, r := range records(p.items) {
				read = append(read, readAttack(r))
			}
			if !yield(AttackPage{Attacks: read, ServerTime: p.serverTime}, err) {
				return
			}
		}
	}
}

func readAttack(r record) Attack {
	a := Attack{
		ID:          cmp.Or(identity(r["attackid"]), identity(r["id"])),
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
	for _, s := range busiest(r.list("ip_top")) {
		ip, err := netip.ParseAddr(s.text("ip"))
		ip = ip.Unmap().WithZone("")
		if err == nil && !slices.ContainsFunc(a.Sources, func(before Source) bool { return before.IP == ip }) { // 192.0.2.1 may also come as ::ffff:192.0.2.1
			a.Sources = append(a.Sources, Source{IP: ip, Hits: s.figure("count"), Country: country(s)})
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
	return fmt.Sprintf("%s… (%d bytes, SHA-256 %x)", cut(text, most), len(text), sha256.Sum256([]byte(text)))
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
func country(r record) string { return cut(r.text("country"), briefText) }

// cut is the beginning of a text: at most so many bytes, and whole characters.
func cut(text string, most int) string { return strings.ToValidUTF8(text[:min(most, len(text))], "") }

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
