package record

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
)

// Severity is how severe an attack is. Its event and card show the worst that it reached.
type Severity string

// The severities, the worst first.
const (
	SeverityCritical Severity = "critical"
	SeverityHigh     Severity = "high"
	SeverityMedium   Severity = "medium"
	SeverityLow      Severity = "low"
)

// SeverityOf is how severe an attack is as it was observed.
func SeverityOf(a apiclient.Attack) Severity {
	switch {
	case a.Incident():
		return SeverityCritical
	case a.Status() == apiclient.StatusBlocked:
		return SeverityLow
	}
	switch a.Type {
	case "rce", "sqli", "nosqli", "ssti", "xxe", "ssrf", "ptrav", "brute", "credential_stuffing", "bola":
		return SeverityHigh
	}
	return SeverityMedium
}

// Severities are all severities, the worst first.
func Severities() []Severity {
	return []Severity{SeverityCritical, SeverityHigh, SeverityMedium, SeverityLow}
}

// Worst is the worst of severities; "" if none is given or known.
func Worst(all ...Severity) Severity {
	for _, s := range Severities() {
		if slices.Contains(all, s) {
			return s
		}
	}
	return ""
}
