package waf

import (
	"fmt"
	"time"
)

// vuln is a security issue of a protected application.
type vuln struct {
	id, threat        int
	title, kind       string
	host, path        string
	method, parameter string
	status            string
	detection         string
	validated         bool
	incidents         int
	found             time.Time
}

func (v *vuln) view(clientID int) map[string]any {
	return map[string]any{
		"id": v.id, "wid": fmt.Sprintf("ISSUE-%d", v.id), "status": v.status, "type": v.kind, "threat": v.threat,
		"target": kindOf(v.kind).target, "title": v.title, "description": nil, "additional": nil,
		"domain": v.host, "path": v.path, "method": v.method, "parameter": v.parameter, "clientid": clientID,
		"testrun_id": nil, "validated": v.validated, "incidents": v.incidents, "detection_method": v.detection,
		"discovered_at": v.found.Unix(),
	}
}

// listVulns is POST /v1/objects/vuln. The time filter means the time of discovery.
func (s *Service) listVulns(c call) reply {
	c.body.known("filter", "offset", "limit")
	filter := c.body.object("filter")
	filter.known("clientid", "testrun_id", "validated", "time")
	owned := c.account.owns(filter)
	onlyNull(filter, "testrun_id")
	validated := optional[bool](filter, "validated")
	inTime := parseSpans(filter)
	offset, limit := page(c.body, longestAttackPage)
	if refused, bad := c.body.refused(); bad {
		return refused
	}
	if !owned {
		return noPermission()
	}
	views := []map[string]any{}
	for _, v := range c.account.vulns {
		if inTime(v.found) && (!filter.given("validated") || v.validated == validated) {
			views = append(views, v.view(c.account.ClientID))
		}
	}
	return answer(cut(views, offset, limit))
}

// seedVulns gives the account the issues that other detection methods found; they make no incidents.
func (a *account) seedVulns(now time.Time) {
	if len(a.Applications) == 0 {
		return
	}
	a.vulns = append(a.vulns,
		&vuln{
			id: a.lastVuln + 1, threat: 60, title: "Reflected XSS in search", kind: "xss", host: a.Applications[0].Host,
			path: "/search", method: "GET", parameter: "GET_q_value", status: "open", detection: "scanner", validated: true,
			found: now.Add(-20 * 24 * time.Hour),
		},
		&vuln{
			id: a.lastVuln + 2, threat: 40, title: "Open redirect after login", kind: "redir", host: a.Applications[0].Host,
			path: "/login", method: "GET", parameter: "GET_next_value", status: "closed", detection: "scanner",
			found: now.Add(-60 * 24 * time.Hour),
		})
	a.lastVuln += 2
}

// exploit returns the issue that an incident exploits; one that is known already gets another incident.
func (a *account) exploit(spec VulnSpec, attack AttackSpec, now time.Time) *vuln {
	for _, v := range a.vulns {
		if v.id == spec.ID {
			v.incidents++
			return v
		}
	}
	if spec.ID == 0 {
		a.lastVuln++
		spec.ID = a.lastVuln
	}
	a.lastVuln = max(a.lastVuln, spec.ID)
	kind := kindOf(attack.Type)
	if spec.Title == "" {
		spec.Title = kind.label + " in " + attack.Path
	}
	if spec.Threat == 0 {
		spec.Threat = kind.threat
	}
	created := &vuln{
		id: spec.ID, threat: spec.Threat, title: spec.Title, kind: attack.Type, host: attack.Host, path: attack.Path,
		method: attack.Method, parameter: attack.Parameter, status: "open", detection: "passive", validated: true,
		incidents: 1, found: now,
	}
	a.vulns = append(a.vulns, created)
	return created
}
