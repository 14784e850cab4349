package waf

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// slowness is how late a slow answer comes.
const slowness = 3 * time.Second

// Fault makes the service answer wrongly.
type Fault struct {
	// Account is a name; "" means every request, also one without a token.
	Account string `json:"account,omitempty"`
	// Endpoint is a path or "METHOD /path"; "" means any.
	Endpoint string `json:"endpoint,omitempty"`
	// Kind is one of
	//   status:N         refuses with HTTP status N (400 to 599) and the body that belongs to it
	//   inner:N          answers 200 with a refusal of status N inside the envelope
	//   unauthenticated  refuses the token
	//   html             answers 502 with a proxy's page
	//   hang             never answers
	//   reset            resets the connection
	//   slow             carries out, answers after 3 s
	//   cut              carries out, breaks off in the middle of the answer
	//   500_applied      carries out, then answers 500
	//   reset_applied    carries out, then resets the connection
	//   lagging          lists what was written until 10 s ago
	//   mode_replaced    with the creation of a mode, removes the others for the same requests silently
	//   mode_kept        then keeps them: the last written holds
	//   endless          lists attacks without end, behind those that there are; incidents as ever
	//   foreign          reads for the next account, and names it in what a change answers
	Kind string `json:"kind"`
	// RetryAfter is the header of that name with status:N; "" sends none.
	RetryAfter string `json:"retry_after,omitempty"`
	// Times is how many requests get the fault. 0 means all until it is cleared.
	Times int `json:"times,omitempty"`
	// Every is of how many requests one gets the fault; 0 means each.
	Every int `json:"every,omitempty"`

	passed int // requests since the last one with the fault
}

// What becomes of the mode rules for the same requests as a new one.
const (
	modeReplaced = "mode_replaced"
	modeKept     = "mode_kept"
)

func plainFaults() []string {
	return []string{"unauthenticated", "html", "hang", "reset", "slow", "cut", "500_applied", "reset_applied", "lagging", modeReplaced, modeKept, "endless", "foreign"}
}

// SetFault adds a fault. The first one that fits a request is used.
func (s *Service) SetFault(f Fault) error {
	if _, _, isStatus := f.code(); !isStatus && !slices.Contains(plainFaults(), f.Kind) {
		return fmt.Errorf("unknown kind of fault %q", f.Kind)
	}
	if f.Times < 0 || f.Every < 0 {
		return fmt.Errorf("times is %d and every is %d: one is below 0", f.Times, f.Every)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Account != "" {
		if _, err := s.account(f.Account); err != nil {
			return err
		}
	}
	s.faults = append(s.faults, &f)
	s.notify()
	return nil
}

// ClearFaults removes all faults. A request that hangs already goes on hanging.
func (s *Service) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
	s.notify()
}

// ClearFault removes the faults that were set as f was, also those that are not used up.
func (s *Service) ClearFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = slices.DeleteFunc(s.faults, func(set *Fault) bool {
		same := *set
		same.Times, same.passed = f.Times, f.passed
		return same == f
	})
	s.notify()
}

// Faults returns the faults in force.
func (s *Service) Faults() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Fault, len(s.faults))
	for i, f := range s.faults {
		list[i] = *f
	}
	return list
}

// code splits status:N and inner:N.
func (f Fault) code() (kind string, status int, ok bool) {
	kind, number, _ := strings.Cut(f.Kind, ":")
	status, err := strconv.Atoi(number)
	return kind, status, err == nil && (kind == "status" || kind == "inner") && status >= 400 && status <= 599
}

// takeFault returns the fault of the request and counts its use.
func (s *Service) takeFault(r *Request) Fault {
	for i, f := range s.faults {
		if f.Account != "" && f.Account != r.Account ||
			f.Endpoint != "" && f.Endpoint != r.Path && f.Endpoint != r.Method+" "+r.Path {
			continue
		}
		if f.passed++; f.passed < f.Every {
			continue
		}
		f.passed = 0
		taken := *f
		if f.Times == 1 {
			s.faults = slices.Delete(s.faults, i, i+1)
			s.notify()
		} else if f.Times > 1 {
			f.Times--
		}
		return taken
	}
	return Fault{}
}

// faultyCall is a request with a fault.
type faultyCall struct {
	fault  Fault
	record *Request
	body   []byte
}

func (s *Service) serveFault(w http.ResponseWriter, r *http.Request, c faultyCall) {
	if kind, status, ok := c.fault.code(); ok {
		refused := refusal(status, faultBody(status))
		if kind == "inner" {
			refused.status = http.StatusOK
		} else if c.fault.RetryAfter != "" {
			w.Header().Set("Retry-After", c.fault.RetryAfter)
		}
		s.finish(w, c, refused)
		return
	}
	switch c.fault.Kind {
	case "unauthenticated":
		s.finish(w, c, notAuthenticated())
	case "html":
		s.answered(c.record, http.StatusBadGateway)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"))
	case "hang":
		<-r.Context().Done()
	case "reset":
		reset(w)
	case "slow":
		applied := s.serve(r, c.body, call{lag: s.lag})
		if wait(r.Context(), slowness) {
			s.finish(w, c, applied)
		}
	case "cut":
		s.cutOff(w, c, s.serve(r, c.body, call{lag: s.lag}))
	case "500_applied":
		s.serve(r, c.body, call{lag: s.lag})
		s.finish(w, c, refusal(http.StatusInternalServerError, faultBody(http.StatusInternalServerError)))
	case "reset_applied":
		s.serve(r, c.body, call{lag: s.lag})
		reset(w)
	case "endless":
		answered := s.serve(r, c.body, call{lag: s.lag})
		if r.URL.Path == "/v1/objects/attack" && answered.status == http.StatusOK {
			answered.body = s.withoutEnd(c.body, answered.body)
		}
		s.finish(w, c, answered)
	case "foreign":
		s.finish(w, c, s.foreign(r, c))
	}
}

// foreign is an answer for the account behind the request's own.
func (s *Service) foreign(r *http.Request, c faultyCall) reply {
	i := slices.IndexFunc(s.accounts, func(a *account) bool { return a.Name == c.record.Account })
	if i < 0 {
		return s.serve(r, c.body, call{lag: s.lag})
	}
	own, other := s.accounts[i], s.accounts[(i+1)%len(s.accounts)]
	body := map[string]any{}
	_ = json.Unmarshal(c.body, &body)
	if filter, lists := body["filter"].(map[string]any); lists && body["limit"] != nil || r.Method == http.MethodGet {
		asked := r.Clone(r.Context())
		asked.Header.Set("X-ServiceApi-Token", other.Token)
		if lists {
			filter["clientid"] = []int{other.ClientID}
			c.body, _ = json.Marshal(body)
		} else {
			query := asked.URL.Query()
			query.Set("filter[clientid]", strconv.Itoa(other.ClientID))
			asked.URL.RawQuery = query.Encode()
		}
		return s.serve(asked, c.body, call{lag: s.lag})
	}
	answered := s.serve(r, c.body, call{lag: s.lag})
	text, _ := json.Marshal(answered.body)
	renamed := bytes.ReplaceAll(text, fmt.Appendf(nil, `"clientid":%d,`, own.ClientID), fmt.Appendf(nil, `"clientid":%d,`, other.ClientID))
	answered.body = json.RawMessage(renamed)
	return answered
}

func (s *Service) finish(w http.ResponseWriter, c faultyCall, answered reply) {
	s.answered(c.record, answered.status)
	write(w, answered)
}

// cutOff announces the whole answer and breaks off after half of it.
func (s *Service) cutOff(w http.ResponseWriter, c faultyCall, answered reply) {
	s.answered(c.record, answered.status)
	text := answered.encode()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(answered.status)
	_, _ = w.Write(text[:len(text)/2])
	_ = http.NewResponseController(w).Flush() // what can't be flushed is cut all the more
	panic(http.ErrAbortHandler)
}

// reset closes the connection so that the client sees a reset, or at least an end without an answer.
func reset(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the close is merely a polite one
	}
	_ = connection.Close()
}

// wait reports whether d passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func faultBody(status int) string {
	switch status {
	case http.StatusForbidden:
		return "Check permissions failed"
	case http.StatusUnauthorized:
		return "User not authenticated"
	case http.StatusNotFound:
		return "Not found"
	case http.StatusConflict:
		return "Already exists"
	case http.StatusLocked:
		return "Rules updates have been locked, try again later"
	case http.StatusTooManyRequests:
		return "Rate limiting"
	case http.StatusInternalServerError:
		return "Timed out while waiting for the database"
	}
	return http.StatusText(status)
}
