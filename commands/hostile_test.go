package commands_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/hostiletext"
	"github.com/wafbot/wafbot/internal/text"
)

// A line at a terminal only shows what strangers wrote; nothing but a plain piece's own beginning and end breaks it.
func TestHostileTextIsTextAtATerminal(t *testing.T) {
	t.Parallel()
	for _, sample := range full.Some(12, hostiletext.Samples()) {
		words := sample.Text
		line := text.New("x", strings.Trim(words, "\n"), text.Code(words), text.Bold(words), text.User(words), text.Channel(words), text.Link{Label: words, URL: words + "x"}, "y").In(time.UTC)
		require.NoError(t, hostiletext.Plain(line), sample.Purpose)
	}
}

// What is written out in JSON is the same to whatever reads it.
func TestHostileTextIsTheSameInJSON(t *testing.T) {
	t.Parallel()
	for _, sample := range full.Some(12, hostiletext.Samples()) {
		words, err := json.MarshalIndent(map[string]string{"a": sample.Text, sample.Text: "b"}, "", "  ")
		require.NoError(t, err)
		seen := text.SanitizeJSON(words)
		require.NoError(t, hostiletext.Lines(string(seen), hostiletext.Plain), sample.Purpose)
		require.JSONEq(t, string(words), string(seen), sample.Purpose)
	}
}
