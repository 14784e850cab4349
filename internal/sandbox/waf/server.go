package waf

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	largestBody  = 1 << 20
	keptRequests = 1000
)

// Request is an API request that the service received.
type Request struct {
	// Account is the name of the account whose token it carried; "" when it was none's.
	Account string    `json:"account"`
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Query   string    `json:"query,omitempty"`
	Body    string    `json:"body"`
	Time    time.Time `json:"time"`
	// Status is the HTTP status answered; 0 when no answer was given (yet).
	Status int `json:"status"`
}

// call is a request that has been authenticated and parsed.
type call struct {
	account *account
	body    *params
	http    *http.Request
	lag     time.Duration // of what it lists behind what was written

	secondMode string // the fault that says what becomes of the mode rules beside a new one; "": the seed says
}

type endpoint func(*Service, call) reply

func endpointOf(method, path string) endpoint {
	switch method + " " + path {
	case "POST /v1/user":
		return (*Service).user
	case "POST /v1/objects/attack":
		return (*Service).listAttacks
	case "POST /v1/objects/vuln":
		return (*Service).listVulns
	case "POST /v1/objects/hint":
		return (*Service).listRules
	case "POST /v1/objects/action":
		return (*Service).listConditions
	case "POST /v1/objects/hint/create":
		return (*Service).createRule
	case "POST /v1/objects/hint/delete":
		return (*Service).deleteRules
	case "GET /v4/ip_rules":
		return (*Service).listIPRules
	case "POST /v4/ip_rules":
		return (*Service).addIPRule
	case "DELETE /v4/ip_rules":
		return (*Service).deleteIPRules
	}
	if _, ok := aggregationClient(path); ok && method == http.MethodPost {
		return (*Service).aggregate
	}
	return nil
}

// ServeHTTP answers the service's API: /v1/… and /v4/….
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestBody))
	if err != nil {
		write(w, refusal(http.StatusRequestEntityTooLarge, "Request entity too large"))
		return
	}
	record, fault := s.receive(r, body)
	c := call{lag: s.lag}
	switch fault.Kind {
	case "":
	case "lagging":
		c.lag = laggingFault
	case modeReplaced, modeKept:
		c.secondMode = fault.Kind
	default:
		s.serveFault(w, r, faultyCall{fault, record, body})
		return
	}
	answered := s.serve(r, body, c)
	s.answered(record, answered.status)
	write(w, answered)
}

// receive records the request and takes its fault, if any.
func (s *Service) receive(r *http.Request, body []byte) (*Request, Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record := &Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Body: string(body), Time: s.now()}
	if a := s.authenticate(r); a != nil {
		record.Account = a.Name
		a.counts[r.Method+" "+r.URL.Path]++
	}
	s.requests = append(s.requests, record)
	if len(s.requests) > keptRequests {
		s.requests = slices.Delete(s.requests, 0, 1)
	}
	return record, s.takeFault(record)
}

func (s *Service) answered(record *Request, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record.Status = status
}

// serve carries out a request, as the call says how.
func (s *Service) serve(r *http.Request, body []byte, c call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.authenticate(r)
	if a == nil {
		return notAuthenticated()
	}
	handle := endpointOf(r.Method, r.URL.Path)
	if handle == nil {
		return notFound()
	}
	c.account, c.http = a, r
	if r.Method != http.MethodGet {
		if mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(mediaType), "application/json") {
			return refusal(http.StatusUnsupportedMediaType, "Unsupported media type")
		}
		parsed, err := parseParams(body)
		if err != nil {
			return refusal(http.StatusBadRequest, "Invalid JSON")
		}
		c.body = parsed
	}
	return handle(s, c)
}

func write(w http.ResponseWriter, answered reply) {
	text := answered.encode()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(answered.status)
	_, _ = w.Write(text) // the client may be gone
}

// Requests returns the requests received with a token of the account, oldest first, out of the last 1000 of all;
// account "" returns all, also those without a token.
func (s *Service) Requests(account string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Request
	for _, r := range s.requests {
		if account == "" || r.Account == account {
			found = append(found, *r)
		}
	}
	return found
}
