package card

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// A page of a document is shown as it is, to be copied, whatever stands in it, and the largest there can be fits in a message.
func TestDocumentMessage(t *testing.T) {
	t.Parallel()
	next := record.Line{Name: "report", Keys: map[string]string{"attack": "ak7q2m9xw", "page": "2"}}
	for _, document := range []string{"# Attack\n\n- `<!channel>` *b* <@U0ANN> & \u202e\n", strings.Repeat("x", 8_000), strings.Repeat("<", 20_000)} {
		res := call.Result{Lines: manyLines(2, strings.Repeat("x", 500)), Document: document, Next: &next}
		msg := Answer(res, false)
		requireBlocks(t, msg.Blocks)
		text, err := json.Marshal(msg.Blocks)
		require.NoError(t, err)
		var blocks []struct {
			Type     string
			Elements []struct {
				Type     string
				Elements []struct{ Type, Text string }
			}
		}
		require.NoError(t, json.Unmarshal(text, &blocks))
		require.Len(t, blocks, 3)
		require.Equal(t, []string{"section", "rich_text", "actions"}, []string{blocks[0].Type, blocks[1].Type, blocks[2].Type})
		copied := blocks[1].Elements[0]
		require.Equal(t, "rich_text_preformatted", copied.Type)
		require.Equal(t, "text", copied.Elements[0].Type)
		require.True(t, strings.HasPrefix(document, copied.Elements[0].Text))
		require.Contains(t, msg.Text, "xxx")
	}
}
