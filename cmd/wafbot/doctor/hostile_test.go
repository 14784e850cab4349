package doctor_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/hostiletext"
)

// Names of people, groups, channels and the workspace, and the words in which Slack or the service refuses, are printed
// by doctor and do nothing.
func TestDoctorPrintsHostileText(t *testing.T) {
	t.Parallel()
	d := newPatient(t, healthy)
	for i, sample := range full.Some(4, hostiletext.Samples()) {
		saying := func(r *http.Response) error {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			var doc map[string]any
			if json.Unmarshal(text, &doc) == nil {
				if i%3 == 0 {
					doc["ok"], doc["error"], doc["needed"] = false, sample.Text, sample.Text
				}
				text, err = json.Marshal(renamed(doc, sample.Text))
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			r.Header.Del("Content-Length")
			return err
		}
		hostile := d.with("WAFBOT_SLACK_API_URL=" + changing(t, d.URL()+"/slack/api/", saying))
		require.NoError(t, hostiletext.Lines(printed(t, hostile.examine(t)), hostiletext.Plain), sample.Purpose)
	}
}

// renamed is a value in which everything bears another name.
func renamed(v any, name string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = renamed(v[i], name)
		}
	case map[string]any:
		for key, inner := range v {
			if _, text := inner.(string); text && slices.Contains([]string{"name", "name_normalized", "handle", "team", "user", "real_name", "display_name", "url"}, key) {
				v[key] = name
			} else {
				v[key] = renamed(inner, name)
			}
		}
	}
	return v
}
