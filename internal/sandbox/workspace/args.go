package workspace

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const maxBody = 1 << 20 // bytes of a request

// args are a request's arguments, from a form, a query or JSON alike; what isn't a string in JSON is kept as JSON.
type args map[string]string

// parseArgs reads arguments. A token counts in the Authorization header or in a form, not in a query or in JSON.
func parseArgs(rw http.ResponseWriter, r *http.Request) (args, error) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	a := args{}
	a.addForm(r.URL.Query())
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	isJSON := kind == "application/json" && len(body) > 0 // without arguments clients may leave it empty
	if isJSON {
		err = a.addJSON(body)
	}
	delete(a, "token")
	if !isJSON {
		err = a.addBody(body)
	}
	if err != nil {
		return nil, err
	}
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		a["token"] = token
	}
	return a, nil
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
