package commands_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/verb"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

func TestUnknownVerbs(t *testing.T) {
	w := newWorld(t)
	for verb, hint := range map[string]string{"dney": "deny", "statsu": "status", "blok": "block", "udno": "undo", "atack": "attack"} {
		w.refuses(root, verb+" 203.0.113.7", refusal.ErrUnknown, "did you mean "+hint+"?", "help")
	}
	for _, verb := range []string{"x", "xylophone", "\u202e" + strings.Repeat("k", 5000)} {
		_, err := w.try(root, verb)
		require.ErrorIs(t, err, refusal.ErrUnknown)
		require.NotContains(t, err.Error(), "did you mean")
		require.NotContains(t, err.Error(), "\u202e")
		require.Less(t, len(err.Error()), 300)
	}
	require.False(t, w.Changes(record.Line{Name: "xylophone"}))
}

func TestAliases(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, "deny 203.0.113.7 for=4h", w.does(ann, "block 203.0.113.7").Line.String())
	w.does(ann, "unban 203.0.113.7")
	w.does(ann, "ban 203.0.113.7 for=1h")
	w.does(ann, "unblock 203.0.113.7")
	w.does(ann, "grey 203.0.113.7")
	require.Empty(t, w.entries("black"))
	require.Equal(t, []string{"203.0.113.7/32 [0] 24h0m0s"}, w.entries("gray"))
}

// The words that people know from elsewhere, and those of before, mean a verb and are nowhere kept.
func TestAnAliasBecomesItsVerb(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveBlockPath))
	aliases := map[string]string{
		"block": "deny", "ban": "deny", "blacklist": "deny", "unblock": "remove", "unban": "remove", "whitelist": "allow", "grey": "gray", "claim": "ack", "release": "unack",
		"close": "block-path", "unrule": "delete-rule", "assign": "handover", "alone": "override", "break-glass": "override", "block-header": "indicator",
	}
	known := map[string]string{}
	for _, cmd := range verb.All() {
		for _, alias := range cmd.Aliases {
			known[alias] = cmd.Name
		}
	}
	require.Equal(t, aliases, known)
	delete(aliases, "block") // alone it means too much: TestBlockIsAboutSources
	for alias, name := range aliases {
		require.Equal(t, name, w.InThread(record.Line{Name: alias}, "").Name)
		help, err := verb.Help(alias)
		require.NoError(t, err)
		require.Contains(t, help[0].String(), name)
		_, err = w.try(eve, alias)
		require.Error(t, err)
		require.Equal(t, name, w.lastAudit().Line, "a refusal is audited by the verb")
	}

	id := w.attackOn("/login")
	require.Equal(t, "block-path POST shop.example.com/login for=30m", w.anyway(root, "close POST shop.example.com/login for=30m").Line.String())
	require.Equal(t, "block-path POST shop.example.com/login for=30m", w.lastAudit().Line)
	w.nothing(root, "block-path POST shop.example.com/login for=30m")
	w.writes(ann, "claim attack="+id)
	require.Equal(t, "ack attack="+id, w.lastAudit().Line)
	w.nothing(ann, "ack attack="+id)
	f, err := w.formOf(root, "close")
	require.NoError(t, err)
	require.Equal(t, "Block path", f.Title)
	require.Equal(t, "block-path", f.Base.Name)
}

func TestChangesSeparatesReadsFromChanges(t *testing.T) {
	w := newWorld(t)
	for line, want := range map[string]bool{
		"": false, "status": false, "attacks": false, "lists": false, "audit": false, "whoami": false, "help": false, "mode 4": false, "attack a1234": false, "incidents": false,
		"deny 1.2.3.4": true, "ban 1.2.3.4": true, "allow 1.2.3.4": true, "gray 1.2.3.4": true, "contain attack=a1234": true, "patch attack=a1234": true,
		"mode 4 block": true, "remove 1.2.3.4": true, "undo": true,
	} {
		l, err := grammar.Parse(line)
		require.NoError(t, err)
		require.Equal(t, want, w.Changes(l), line)
	}
}
