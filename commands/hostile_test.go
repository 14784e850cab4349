package commands_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/text"
	"github.com/wafbot/wafbot/internal/tricks"
)

// A line at a terminal only shows what strangers wrote; nothing but a plain piece's own beginning and end breaks it.
func TestHostileTextIsTextAtATerminal(t *testing.T) {
	t.Parallel()
	for _, trick := range tricks.All() {
		words := trick.Text
		line := text.New("x", strings.Trim(words, "\n"), text.Code(words), text.Bold(words), text.User(words), text.Channel(words), text.Link{Label: words, URL: words + "x"}, "y").In(time.UTC)
		require.NoError(t, tricks.Plain(line), trick.Tries)
	}
}

// What is written out in JSON is the same to whatever reads it.
func TestHostileTextIsTheSameInJSON(t *testing.T) {
	t.Parallel()
	for _, trick := range tricks.All() {
		words, err := json.MarshalIndent(map[string]string{"a": trick.Text, trick.Text: "b"}, "", "  ")
		require.NoError(t, err)
		seen := text.SeenJSON(words)
		require.NoError(t, tricks.Lines(string(seen), tricks.Plain), trick.Tries)
		require.JSONEq(t, string(words), string(seen), trick.Tries)
	}
}
