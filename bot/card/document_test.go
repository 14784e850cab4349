package card

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// A document comes by pages, each of which a message holds. It is shown as it is, to be copied, whatever stands in it.
func TestDocumentMessage(t *testing.T) {
	t.Parallel()
	line := record.Line{Name: "report"}.With("attack", "ak7q2m9xw").With("account", "acme")
	for document, pages := range map[string]int{
		"# Attack\n\n- `<!channel>` *b* <@U0ANN> & \u202e\n": 1, strings.Repeat("x", 8_001): 2, strings.Repeat("<", 20_000): 3, strings.Repeat("- "+strings.Repeat("long ", 90)+"\n", 60): 4,
	} {
		res := call.Result{Lines: manyLines(2, strings.Repeat("x", 500)), AttackID: "ak7q2m9xw", Document: document, Line: line}
		var whole string
		for n := 1; n <= pages; n++ {
			msg := Answer(res, false)
			requireBlocks(t, msg.Blocks)
			require.Contains(t, msg.Text, "xxx")
			page := copiedFrom(t, msg)
			if strings.Contains(document, "\n") {
				require.True(t, strings.HasSuffix(page, "\n"), "cut at the end of a line")
			}
			whole += page
			said := strings.Join(markupOf(t, msg.Blocks), "\n")
			require.Contains(t, said, "The report as Markdown, to be copied")
			require.Equal(t, pages > 1, strings.Contains(said, "At the terminal it comes in one piece: `wafbot report attack=ak7q2m9xw`"))
			buttons := buttonsOf(msg.Blocks)
			if n == pages {
				require.Empty(t, buttons)
				continue
			}
			require.Len(t, buttons, 1)
			next, err := grammar.Parse(buttons[0].Value)
			require.NoError(t, err)
			res.Line = next
		}
		require.Equal(t, document, whole)
		res.Line = line.With("page", "99")
		require.Contains(t, Answer(res, false).Text, "Invalid page: 99. The last one is ")
	}
}

// copiedFrom is the text to be copied from a message.
func copiedFrom(t *testing.T, msg Message) string {
	t.Helper()
	raw, err := json.Marshal(msg.Blocks[1])
	require.NoError(t, err)
	var block struct {
		Type     string
		Elements []struct {
			Type     string
			Elements []struct{ Type, Text string }
		}
	}
	require.NoError(t, json.Unmarshal(raw, &block))
	copied := block.Elements[0]
	require.Equal(t, []string{"rich_text", "rich_text_preformatted", "text"}, []string{block.Type, copied.Type, copied.Elements[0].Type})
	return copied.Elements[0].Text
}

// Whatever stands in a listing, a message holds a page of it. An item that is cut keeps its id, which stands first.
func TestAPageOfAListingFitsIntoAMessage(t *testing.T) {
	t.Parallel()
	for _, words := range []string{strings.Repeat("<&>", 80), strings.Repeat("x", 3_000), strings.Repeat("/very-long-path", 25)} {
		lines := append(text.Lines{text.New(text.Bold("acme"), ": 40 entries")}, manyLines(call.LongList, words)...)
		lines.Add("… and 15 more")
		blocks := Answer(call.Result{Lines: lines}, false).Blocks
		requireBlocks(t, blocks)
		shown := strings.Join(markupOf(t, blocks), "\n")
		require.Equal(t, call.LongList, strings.Count(shown, "\n• "))
		require.Contains(t, shown, "• 24 ")
		require.True(t, strings.HasSuffix(shown, "\n… and 15 more"))
	}
}
