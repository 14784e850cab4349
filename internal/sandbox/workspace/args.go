package workspace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const maxBody = 1 << 20 // bytes of a request

// args are a request's arguments, from a form, a query or JSON alike; what isn't a string in JSON is kept as JSON.
type args map[string]string

// parseArgs reads the arguments of a method, or of a response URL, whose name is "". A token counts in the Authorization header or in a form, not in a
// query or in JSON.
func parseArgs(rw http.ResponseWriter, r *http.Request, method string) (args, error) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	a := args{}
	a.addForm(r.URL.Query())
	delete(a, "token")
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case len(body) == 0: // without arguments clients may leave it empty, whatever they say it is
	case kind == "application/json":
		if takesJSON(method) {
			err = a.addJSON(body)
			delete(a, "token")
		}
	case kind == "multipart/form-data":
		err = a.addParts(body, params["boundary"])
	case method != "" && kind == "":
		err = refuse("missing_post_type")
	case method != "" && !slices.Contains([]string{"application/x-www-form-urlencoded", "text/plain"}, kind):
		err = refuse("invalid_post_type")
	default:
		err = a.addBody(body)
	}
	if err != nil {
		return nil, err
	}
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		a["token"] = strings.TrimSpace(token)
	}
	return a, nil
}

// takesJSON reports whether a method reads arguments from JSON. Those that only read take none: they answer as if nothing was given.
func takesJSON(method string) bool {
	switch family, verb, _ := strings.Cut(method, "."); family {
	case "bots", "team", "usergroups", "users":
		return false
	case "conversations":
		return verb == "join" || verb == "open"
	case "chat":
		return verb != "getPermalink"
	}
	return true
}

func (a args) addParts(body []byte, boundary string) error {
	form, err := multipart.NewReader(bytes.NewReader(body), boundary).ReadForm(maxBody)
	if err != nil {
		return fmt.Errorf("parse parts: %w", err)
	}
	a.addForm(form.Value)
	return nil
}

func (a args) addBody(body []byte) error {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return fmt.Errorf("parse form: %w", err)
	}
	if payload := form.Get("payload"); payload != "" {
		return a.addJSON([]byte(payload))
	}
	a.addForm(form)
	return nil
}

func (a args) addForm(form url.Values) {
	for key := range form {
		a[key] = form.Get(key)
	}
}

func (a args) addJSON(body []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return fmt.Errorf("parse arguments: %w", err)
	}
	for key, raw := range object {
		var text string
		switch {
		case string(raw) == "null":
		case json.Unmarshal(raw, &text) == nil:
			a[key] = text
		default:
			a[key] = string(raw)
		}
	}
	return nil
}

// has reports whether an argument was given, also when it is empty.
func (a args) has(key string) bool {
	_, ok := a[key]
	return ok
}

func (a args) flag(key string) bool {
	return a[key] == "true" || a[key] == "1"
}

// limit is the argument limit, at most most. It is fallback when it is missing or below 1.
func (a args) limit(fallback, most int) int {
	n, err := strconv.Atoi(a["limit"])
	if err != nil || n < 1 {
		return fallback
	}
	return min(n, most)
}
