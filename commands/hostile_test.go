package commands_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/hostiletext"
	"github.com/wafbot/wafbot/internal/norace"
)

// A line at a terminal only shows what strangers wrote; nothing but a plain piece's own beginning and end breaks it.
func TestHostileTextIsTextAtATerminal(t *testing.T) {
	norace.Defer(t)
	t.Parallel()
	for _, sample := range hostiletext.Samples() {
		text := sample.Text
		line := commands.Say("x", strings.Trim(text, "\n"), commands.Code(text), commands.Bold(text), commands.User(text), commands.Channel(text), commands.Link{Label: text, URL: text + "x"}, "y").In(time.UTC)
		require.NoError(t, hostiletext.Plain(line), sample.Purpose)
	}
}

// What is written out in JSON is the same to whatever reads it.
func TestHostileTextIsTheSameInJSON(t *testing.T) {
	t.Parallel()
	for _, sample := range hostiletext.Samples() {
		text, err := json.MarshalIndent(map[string]string{"a": sample.Text, sample.Text: "b"}, "", "  ")
		require.NoError(t, err)
		seen := commands.SeenJSON(text)
		require.NoError(t, hostiletext.Lines(string(seen), hostiletext.Plain), sample.Purpose)
		require.JSONEq(t, string(text), string(seen), sample.Purpose)
	}
}
