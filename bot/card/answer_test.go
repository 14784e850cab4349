package card

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func manyLines(n int, words string) text.Lines {
	var lines text.Lines
	for i := range n {
		lines.Add("• ", i, " ", text.Code(words))
	}
	return lines
}

func TestRenderLines(t *testing.T) {
	t.Parallel()
	undo := call.Suggestion{Label: "Undo", Line: record.Line{Name: "undo", Words: []string{"c7k2m9xw4"}}, Title: "Undo it?", Confirm: call.Dialog{{Text: "Undo: Deny x."}}, OK: "Undo"}
	blocks := renderLines(text.Lines{text.New(text.Bold("acme"), ": 2 going on"), text.New("• ", text.Code("a1"))}, []call.Suggestion{undo})
	requireBlocks(t, blocks)
	require.Equal(t, []string{"*acme*: 2 going on\n• `a1`"}, markupOf(t, blocks))
	buttons := buttonsOf(blocks)
	require.Len(t, buttons, 1)
	require.Equal(t, "do:1", buttons[0].ActionID)
	require.Equal(t, "undo c7k2m9xw4", buttons[0].Value)
	require.Equal(t, "Undo: Deny x.", buttons[0].Confirm.Text.Text)
}

func TestRenderLinesCountsWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"x", strings.Repeat("x", 60), strings.Repeat("x", 90), strings.Repeat("&", 3_000)} {
		blocks := renderLines(manyLines(3_000, words), nil)
		requireBlocks(t, blocks)
		all := strings.Split(strings.Join(markupOf(t, blocks), "\n"), "\n")
		last := all[len(all)-1]
		require.Equal(t, moreLines(3_000-len(all)+1), last)
		require.Greater(t, len(strings.Join(all, "\n")), 6_000, "there is room for more")
	}
}

func TestRenderLinesShowsAllThatFit(t *testing.T) {
	t.Parallel()
	blocks := renderLines(manyLines(200, "x"), nil)
	require.Len(t, strings.Split(strings.Join(markupOf(t, blocks), "\n"), "\n"), 200)
}

func TestRenderLinesOfNothing(t *testing.T) {
	t.Parallel()
	requireBlocks(t, renderLines(nil, nil))
	requireBlocks(t, renderLines(text.Lines{nil, text.New("")}, nil))
}

func TestRenderLinesWithManyButtons(t *testing.T) {
	t.Parallel()
	var buttons []call.Suggestion
	for i := range 60 {
		buttons = append(buttons, call.Suggestion{Label: fmt.Sprint("b", i), Line: record.Line{Name: "undo", Words: []string{strings.Repeat("x", i*50)}}, Confirm: call.Dialog{{Text: strings.Repeat("c", 1_000)}}})
	}
	blocks := renderLines(text.Lines{text.New("x")}, buttons)
	requireBlocks(t, blocks)
	made := len(buttonsOf(blocks))
	require.Greater(t, made, 5)
	require.Contains(t, strings.Join(markupOf(t, blocks), "\n"), fmt.Sprintf("There is no room for a button *b%d*: type `undo ", made))
}

func TestLineEndsOfStrangersDoNotPartLines(t *testing.T) {
	t.Parallel()
	words := text.New(text.Bold("Deny?"), " Before you do:", "\n• ", text.New("it is ", text.Code("a\nb")), "\n• ", "c\nd", ".\n", "e")
	require.Equal(t, []string{"*Deny?* Before you do:\n• it is `a\\x0ab`\n• c\\x0ad.\ne"}, markupOf(t, renderLines(text.Lines{words}, nil)))
}

func TestRenderAsk(t *testing.T) {
	t.Parallel()
	line := record.Line{Name: "deny", Words: []string{"203.0.113.7"}}.With("account", "acme")
	msg := Ask(&refusal.Refusal{
		Kind: refusal.ErrAsk, Line: line,
		Text: text.New(text.Bold("Deny 203.0.113.7 everywhere for 4 h"), "? Before you do:", "\n• ", text.New("it is graylisted <!here>")),
	})
	requireFits(t, msg)
	require.Equal(t, markupOf(t, msg.Blocks)[0], msg.Text)
	require.Equal(t, []string{"*Deny 203.0.113.7 everywhere for 4 h*? Before you do:\n• it is graylisted &lt;!here&gt;"}, markupOf(t, msg.Blocks))
	buttons := buttonsOf(msg.Blocks)
	require.Len(t, buttons, 2)
	require.Equal(t, "anyway:1", buttons[0].ActionID)
	require.Equal(t, line.String(), buttons[0].Value)
	require.Equal(t, "Do it anyway", buttons[0].Text.Text)
	require.Equal(t, "cancel", buttons[1].ActionID)
	require.Equal(t, "Cancel", buttons[1].Text.Text)
}

func TestRenderAskTooLongForAButton(t *testing.T) {
	t.Parallel()
	msg := Ask(&refusal.Refusal{Kind: refusal.ErrAsk, Text: text.New("Deny?"), Line: record.Line{Name: "deny", Words: []string{strings.Repeat("1", maxValue)}}})
	requireFits(t, msg)
	require.Len(t, buttonsOf(msg.Blocks), 1)
	require.Contains(t, markupOf(t, msg.Blocks)[0], "too long for a button")
}

func TestAnswerText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "*acme*: fine\n&lt;x&gt; <@U0ANN>", answerText(text.Lines{text.New(text.Bold("acme"), ": fine"), text.New("<x> ", text.User("U0ANN"))}))
	long := answerText(manyLines(500, "xxxxxxxxxx"))
	require.LessOrEqual(t, len([]rune(long)), maxAnswerText)
	require.Regexp(t, `\n… [0-9]+ more lines$`, long)
}

// What fills the room alone is cut, and not counted as left out.
func TestTheFirstLineIsNeverLeftOut(t *testing.T) {
	t.Parallel()
	for n := 1; n < 200; n++ {
		lines := firstLines(text.Lines{text.New(strings.Repeat("x", n)), text.New("more")}, 100, 100)
		require.Contains(t, lines[0], "x", n)
		require.LessOrEqual(t, length(strings.Join(lines, "\n")), 100)
	}
}
