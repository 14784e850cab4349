package sandbox

import (
	"errors"
	"net/http"
	"slices"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

type playBody struct {
	Account string `json:"account"`
}

type endBody struct {
	Account string `json:"account"` // "": all
}

type growBody struct {
	Factor float64 `json:"factor"`
}

type hitsBody struct {
	Hits int64 `json:"hits"`
}

type reviewBody struct {
	State string `json:"state"`
}

type attacksAnswer struct {
	Attacks []waf.Attack `json:"attacks"`
}

// serviceAPI is the part of the control API for the emulated service.
type serviceAPI struct{ *World }

func (w serviceAPI) routes() []route {
	return []route{
		{Method: "GET", Path: "/sandbox/accounts", Does: "the accounts with their tokens, and the environment for a bot", handle: w.getAccounts},
		{Method: "GET", Path: "/sandbox/service/{account}", Does: "attacks, lists, rules, modes, and the traffic of the last 180 s", handle: w.getService},
		{Method: "GET", Path: "/sandbox/service/{account}/requests", Does: "the last 1,000 requests the service received", handle: w.getRequests},
		{Method: "POST", Path: "/sandbox/service/{account}/entries", Does: "an entry of the IP lists by another author", Body: otherAuthor(), handle: w.postEntry},
		{Method: "GET", Path: "/sandbox/scenarios", Does: "the scenarios", handle: getScenarios},
		{Method: "POST", Path: "/sandbox/scenarios/{name}", Does: "start a scenario; account may be left out", Body: playBody{"acme"}, handle: w.postScenario},
		{Method: "POST", Path: "/sandbox/attacks", Does: "start an attack; every field may be left out", Body: exampleAttack(), handle: w.postAttack},
		{Method: "POST", Path: "/sandbox/attacks/stop", Does: "end all attacks of an account, or of all", Body: endBody{"acme"}, handle: w.postStopAll},
		{Method: "POST", Path: "/sandbox/attacks/{id}/grow", Does: "multiply the rates of its sources", Body: growBody{10}, handle: w.postGrow},
		{Method: "POST", Path: "/sandbox/attacks/{id}/hits", Does: "add hits at once", Body: hitsBody{1000}, handle: w.postHits},
		{Method: "POST", Path: "/sandbox/attacks/{id}/stop", Does: "end it", Body: struct{}{}, handle: w.postStop},
		{Method: "POST", Path: "/sandbox/attacks/{id}/incident", Does: "the service finds that it works", Body: waf.VulnSpec{ID: 812, Title: "SQL injection in login", Threat: 90}, handle: w.postIncident},
		{Method: "POST", Path: "/sandbox/attacks/{id}/state", Does: "a person's verdict in the service", Body: reviewBody{"falsepositive"}, handle: w.postReview},
	}
}

func otherAuthor() waf.IPRule {
	return waf.IPRule{List: "black", RuleType: "ip_range", Subnet: "198.51.100.7/32", Pools: []int{0}, Author: "trigger", EventType: "trigger", Reason: "brute force", ExpiredAt: 1893456000}
}

func exampleAttack() waf.AttackSpec {
	return waf.AttackSpec{
		Account: "acme", App: 4, Method: "POST", Path: "/login", Type: "sqli",
		Sources: []waf.SourceSpec{{IP: "203.0.113.7", Country: "FR", PerSecond: 2}}, OtherSources: 12,
	}
}

func (w serviceAPI) getAccounts(*http.Request) (any, error) {
	return map[string]any{"accounts": w.accounts, "env": w.Env()}, nil
}

// account is the account that the request's path names.
func (w serviceAPI) account(req *http.Request) (string, error) {
	name := req.PathValue("account")
	if !w.hasAccount(name) {
		return "", refuse(http.StatusNotFound, "no account %q: GET /sandbox/accounts lists them", name)
	}
	return name, nil
}

func (w serviceAPI) getRequests(req *http.Request) (any, error) {
	name, err := w.account(req)
	if err != nil {
		return nil, err
	}
	return map[string]any{"requests": w.WAF.Requests(name)}, nil
}

func (w serviceAPI) postEntry(req *http.Request) (any, error) {
	name, err := w.account(req)
	if err != nil {
		return nil, err
	}
	entry, err := read[waf.IPRule](req)
	if err != nil {
		return nil, err
	}
	id, err := w.WAF.SeedIPRule(name, entry)
	return map[string]int64{"id": id}, err
}

func getScenarios(*http.Request) (any, error) {
	return map[string]any{"scenarios": scenarios()}, nil
}

func (w serviceAPI) postScenario(req *http.Request) (any, error) {
	body, err := read[playBody](req)
	if err != nil {
		return nil, err
	}
	name := req.PathValue("name")
	if !slices.ContainsFunc(scenarios(), func(s scenario) bool { return s.Name == name }) {
		return nil, refuse(http.StatusNotFound, "no scenario %q: GET /sandbox/scenarios lists them", name)
	}
	attacks, err := w.Play(name, body.Account)
	return started(attacks), err
}

func (w serviceAPI) postAttack(req *http.Request) (any, error) {
	spec, err := read[waf.AttackSpec](req)
	if err != nil {
		return nil, err
	}
	attacks, err := w.start(spec)
	return started(attacks), err
}

func started(attacks []waf.Attack) attacksAnswer {
	for i := range attacks {
		cutSources(&attacks[i])
	}
	return attacksAnswer{append([]waf.Attack{}, attacks...)}
}

// change changes the attack of the request's path, with the request's body.
func change[T any](req *http.Request, do func(id string, body T) error) (any, error) {
	body, err := read[T](req)
	if err != nil {
		return nil, err
	}
	err = do(req.PathValue("id"), body)
	if errors.Is(err, waf.ErrNoAttack) {
		return nil, refuse(http.StatusNotFound, "%v: GET /sandbox/service/{account} lists them", err)
	}
	return struct{}{}, err
}

func (w serviceAPI) postGrow(req *http.Request) (any, error) {
	return change(req, func(id string, b growBody) error { return w.WAF.GrowAttack(id, b.Factor) })
}

func (w serviceAPI) postHits(req *http.Request) (any, error) {
	return change(req, func(id string, b hitsBody) error { return w.WAF.AddHits(id, b.Hits) })
}

func (w serviceAPI) postStop(req *http.Request) (any, error) {
	return change(req, func(id string, _ struct{}) error { return w.WAF.StopAttack(id) })
}

func (w serviceAPI) postStopAll(req *http.Request) (any, error) {
	body, err := read[endBody](req)
	if err != nil {
		return nil, err
	}
	stopped, err := w.WAF.StopAttacks(body.Account)
	return map[string]int{"stopped": stopped}, err
}

func (w serviceAPI) postIncident(req *http.Request) (any, error) {
	return change(req, func(id string, v waf.VulnSpec) error { return w.WAF.MakeIncident(id, v) })
}

func (w serviceAPI) postReview(req *http.Request) (any, error) {
	return change(req, func(id string, b reviewBody) error { return w.WAF.SetState(id, b.State) })
}
