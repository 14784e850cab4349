package card

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/hostiletext"
)

var (
	schemas   = map[string]*jsonschema.Schema{}
	schemasMu sync.Mutex
)

// compiled is the schema of a surface: message, modal or home.
func compiled(surface string) (*jsonschema.Schema, error) {
	schemasMu.Lock()
	defer schemasMu.Unlock()
	if s := schemas[surface]; s != nil {
		return s, nil
	}
	file, err := os.Open("../../internal/sandbox/blockkit/schema/" + surface + ".schema.json")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	doc, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(surface+".json", doc); err != nil {
		return nil, err
	}
	schemas[surface], err = c.Compile(surface + ".json")
	return schemas[surface], err
}

// requireFits fails if Slack would refuse the message, or could.
func requireFits(t testing.TB, msg Message) {
	t.Helper()
	require.NotEmpty(t, msg.Text)
	require.True(t, utf8.ValidString(msg.Text))
	require.LessOrEqual(t, units(msg.Text), 4_000)
	requireBlocks(t, msg.Blocks)
	payload, err := json.Marshal(msg.Metadata)
	require.NoError(t, err)
	require.Less(t, len(payload), 1_000)
}

func requireBlocks(t testing.TB, blocks []slack.Block) {
	t.Helper()
	s, err := compiled("message")
	require.NoError(t, err)
	raw, err := json.Marshal(map[string]any{"blocks": blocks})
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	require.NoError(t, err)
	require.NoError(t, s.Validate(doc))
	require.NotEmpty(t, blocks)
	texts := textsOf(doc)
	together := 0
	for _, text := range texts {
		together += units(text.text)
		if text.markup {
			require.LessOrEqual(t, units(text.text), 3_000)
		}
		require.True(t, utf8.ValidString(text.text))
	}
	require.LessOrEqual(t, together, 10_000)
	ids := map[string]bool{}
	walk(doc, func(o map[string]any) {
		if id, ok := o["action_id"].(string); ok {
			require.False(t, ids[id], "action_id %s comes twice", id)
			ids[id] = true
		}
	})
}

// units is how long a text is in UTF-16: Slack doesn't say how it counts.
func units(text string) int { return len(utf16.Encode([]rune(text))) }

// shownText is a text object of a message.
type shownText struct {
	text   string
	markup bool
}

func textsOf(doc any) []shownText {
	var texts []shownText
	walk(doc, func(o map[string]any) {
		text, ok := o["text"].(string)
		if ok {
			texts = append(texts, shownText{text, o["type"] == "mrkdwn"})
		}
	})
	return texts
}

func walk(doc any, visit func(map[string]any)) {
	switch d := doc.(type) {
	case map[string]any:
		visit(d)
		for _, v := range d {
			walk(v, visit)
		}
	case []any:
		for _, v := range d {
			walk(v, visit)
		}
	}
}

// markupOf is every markup text of the blocks.
func markupOf(t testing.TB, blocks []slack.Block) []string {
	t.Helper()
	raw, err := json.Marshal(blocks)
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	require.NoError(t, err)
	var all []string
	for _, text := range textsOf(doc) {
		if text.markup {
			all = append(all, text.text)
		}
	}
	return all
}

// requireHarmless fails if Slack would read more into a line of markup than our own code, bold, dates, calls and channels.
func requireHarmless(t testing.TB, line string) {
	t.Helper()
	require.NoError(t, hostiletext.Markup(line))
}

func TestMain(m *testing.M) {
	full.Checks(20, 100)
	os.Exit(m.Run())
}
