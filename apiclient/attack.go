package apiclient

import (
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
	SourceCount Figure         `json:"source_count"` // the true number of sources; Sources is cut short
	Sources     []Source       `json:"sources,omitempty"`
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
			*text = strings.ToValidUTF8((*text)[:briefText], "") + "…"
		}
	}
	a.Sources = slices.Clone(a.Sources[:min(briefList, len(a.Sources))])
	for i := range a.Sources {
		a.Sources[i].Country = strings.ToValidUTF8(a.Sources[i].Country[:min(briefText, len(a.Sources[i].Country))], "")
	}
	a.Countries = nil // the sources have them
	a.StatusCodes = a.StatusCodes[:min(briefList, len(a.StatusCodes))]
	return a
}
