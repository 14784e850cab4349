package workspace

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// Fault makes calls or deliveries fail from now on.
type Fault struct {
	Method string `json:"method"` // a Web API method, response_url, or empty: any; ignored for deliveries
	// Kind is ratelimited, 500 or timeout (each as it is, or as ratelimited_posted and so on: refused but done all
	// the same), archived, missing_scope, lost_click (deliveries are dropped), duplicate_delivery (each is sent
	// twice), or the name of an error, such as token_revoked.
	Kind       string `json:"kind"`
	Channel    string `json:"channel,omitempty"`     // id or #name; empty: any
	RetryAfter int    `json:"retry_after,omitempty"` // seconds; 0: 1
	Times      int    `json:"times,omitempty"`       // how often it is used; 0: until ClearFaults
}

const (
	lostClick         = "lost_click"
	duplicateDelivery = "duplicate_delivery"
	windowClosed      = "edit_window_closed" // chat.update alone has it
)

// SetFault adds a fault.
func (w *faultMenu) SetFault(f Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, f)
}

// ClearFaults removes all faults.
func (w *faultMenu) ClearFaults() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = nil
}

func (f Fault) posted() bool { return strings.HasSuffix(f.Kind, "_posted") }

func (f Fault) ofDelivery() bool { return f.Kind == lostClick || f.Kind == duplicateDelivery }

// takeFault finds the fault of a call, and counts its use.
func (w *faultMenu) takeFault(method, channel string) (Fault, bool) {
	return w.take(channel, func(f Fault) bool {
		named := f.Method == "" && (f.Kind != windowClosed || method == "chat.update")
		return !f.ofDelivery() && (named || f.Method == method)
	})
}

// takeDeliveryFault reports whether a delivery has a fault of that kind, and counts its use.
func (w *faultMenu) takeDeliveryFault(kind, channel string) bool {
	_, struck := w.take(channel, func(f Fault) bool { return f.Kind == kind })
	return struck
}

func (w *faultMenu) take(channel string, strikes func(Fault) bool) (Fault, bool) {
	i := slices.IndexFunc(w.faults, func(f Fault) bool {
		return strikes(f) && (f.Channel == "" || w.sameChannel(f.Channel, channel))
	})
	if i < 0 {
		return Fault{}, false
	}
	f := w.faults[i]
	if f.Times == 1 {
		w.faults = slices.Delete(w.faults, i, i+1)
	} else if f.Times > 1 {
		w.faults[i].Times--
	}
	return f, true
}

func (w *faultMenu) sameChannel(a, b string) bool {
	x, y := w.channel(a), w.channel(b)
	return x != nil && x == y
}

// withoutScope is the refusal of a token that lacks those scopes.
func (w *webAPI) withoutScope(needed []string) error {
	if len(needed) == 0 {
		needed = []string{"channels:history"}
	}
	left := slices.DeleteFunc(slices.Clone(w.cfg.Scopes), func(scope string) bool { return slices.Contains(needed, scope) })
	return missingScope(needed, left)
}

// faultOutcome is the outcome of a call with a fault.
func (w *webAPI) faultOutcome(method string, f Fault) outcome {
	var out outcome
	switch kind := strings.TrimSuffix(f.Kind, "_posted"); kind {
	case "ratelimited":
		out = outcomeOf(method, nil, &refusal{name: "ratelimited", retryAfter: cmp.Or(f.RetryAfter, 1)})
	case "500":
		out = outcomeOf(method, nil, refuse("internal_error"))
		out.status = http.StatusInternalServerError
	case "timeout":
		out = outcome{hang: true, header: http.Header{}}
	case "archived":
		out = outcomeOf(method, nil, refuse("is_archived"))
	case "missing_scope":
		out = outcomeOf(method, nil, w.withoutScope(w.methods[method].accepted()))
	default:
		out = outcomeOf(method, nil, refuse(f.Kind))
	}
	out.err = f.Kind
	return out
}
