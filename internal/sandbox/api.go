package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
)

// bodyLimit is the size in bytes of the largest request to the control API.
const bodyLimit = 1 << 20

// route is one call of the control API; GET /sandbox/ lists them all.
type route struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Does   string `json:"does"`
	// Body is an example; nil where none is read.
	Body   any `json:"body,omitempty"`
	handle func(*http.Request) (any, error)
	stream http.HandlerFunc // instead of handle, for what isn't one JSON answer
}

// refusal is an error with its HTTP status, made for the caller to read.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return e.text }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// routes is the handler of page, control API and the two emulated services.
func (w *World) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/slack/", http.StripPrefix("/slack", w.Slack))
	mux.Handle("/service/", http.StripPrefix("/service", w.WAF))
	mux.Handle("/", pageHandler())
	control := w.control()
	methods := map[string][]string{}
	for _, r := range control {
		mux.HandleFunc(r.Method+" "+exact(r.Path), r.serve)
		methods[r.Path] = append(methods[r.Path], r.Method)
	}
	for path, allowed := range methods {
		mux.HandleFunc(exact(path), func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Allow", strings.Join(allowed, ", "))
			writeError(rw, refuse(http.StatusMethodNotAllowed, "use %s here", strings.Join(allowed, " or ")))
		})
	}
	mux.HandleFunc("/sandbox/", func(rw http.ResponseWriter, req *http.Request) {
		writeError(rw, refuse(http.StatusNotFound, "no %s here: GET /sandbox/ lists all calls", req.URL.Path))
	})
	return w.onlyOwnHost(mux)
}

// control lists the calls of the control API.
func (w *World) control() []route {
	service, slack, faults := serviceAPI{w}, slackAPI{w}, &faultAPI{World: w}
	deliveries := &deliveryAPI{slackAPI: slack}
	listed := slices.Concat(service.routes(), slack.routes(), deliveries.routes(), deliveries.viewRoutes(), deliveries.linkRoutes(), faults.routes(), []route{
		{Method: "GET", Path: "/sandbox/events", Does: "server-sent events named \"changed\": one at once, then at most five a second", stream: w.serveEvents},
	})
	index := route{Method: "GET", Path: "/sandbox/", Does: "this list"}
	all := append([]route{index}, listed...)
	all[0].handle = func(*http.Request) (any, error) { return map[string]any{"calls": all}, nil }
	return all
}

// exact keeps a path that ends in a slash from matching all that is below it.
func exact(path string) string {
	if strings.HasSuffix(path, "/") {
		return path + "{$}"
	}
	return path
}

// onlyOwnHost refuses requests that reach a loopback listener under another name: such a
// name belongs to a website that uses the visitor's browser to send requests here (DNS rebinding).
func (w *World) onlyOwnHost(next http.Handler) http.Handler {
	address, isTCP := w.listener.Addr().(*net.TCPAddr)
	if !isTCP || !address.IP.IsLoopback() {
		return next
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if !isLoopback(req.Host) {
			writeError(rw, refuse(http.StatusForbidden, "open %s instead: this address listens on loopback only", w.URL()))
			return
		}
		next.ServeHTTP(rw, req)
	})
}

func isLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}

func (r route) serve(rw http.ResponseWriter, req *http.Request) {
	if r.stream != nil {
		r.stream(rw, req)
		return
	}
	if r.Method == http.MethodPost {
		// Without CORS a website can send a form, but not JSON.
		if kind, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			writeError(rw, refuse(http.StatusUnsupportedMediaType, "send JSON, with Content-Type: application/json"))
			return
		}
		req.Body = http.MaxBytesReader(rw, req.Body, bodyLimit)
	}
	answer, err := r.handle(req)
	if err != nil {
		writeError(rw, err)
		return
	}
	writeJSON(rw, http.StatusOK, answer)
}

// read decodes a request's body strictly; an empty one is the zero T.
func read[T any](req *http.Request) (T, error) {
	var body T
	decoder := json.NewDecoder(req.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&body)
	if errors.Is(err, io.EOF) {
		return body, nil
	}
	if err == nil && decoder.More() {
		err = errors.New("more than one value")
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return body, refuse(http.StatusRequestEntityTooLarge, "send at most %d bytes", bodyLimit)
	}
	if err != nil {
		return body, refuse(http.StatusBadRequest, "fix the JSON: %v", err)
	}
	return body, nil
}

func writeError(rw http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		status = refused.status
	}
	writeJSON(rw, status, map[string]string{"error": err.Error()})
}

func writeJSON(rw http.ResponseWriter, status int, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"the answer has no JSON"}`)
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Cache-Control", "no-store")
	rw.Header().Set("X-Content-Type-Options", "nosniff")
	rw.WriteHeader(status)
	_, _ = rw.Write(append(text, '\n')) // the client may be gone
}
