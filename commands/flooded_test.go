package commands_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// endsEarly is a path, of which marks and what stands behind them are left out, shown as if it ended there.
var endsEarly = regexp.MustCompile(`login\x{0301}*([^…\x{0301}]|$)`)

// What a patch and its question say of a path, and what any answer does, at a terminal, too, never pretends that a path ends where only marks on a letter go on.
func TestNoAnswerEndsAPathBeforeItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/login" + strings.Repeat("\u0301", 2_500) + "/hidden-tail.php"
	id := w.attack(waf.AttackSpec{App: 4, Path: path, Type: "sqli", Parameter: "GET_q_value"})
	asked := 0
	for _, s := range advice.Advise(w.situation(id)).Suggestions {
		confirm, _ := s.In(300)
		require.False(t, endsEarly.MatchString(confirm), confirm)
		if strings.Contains(confirm, "/log") {
			asked++
		}
	}
	require.Positive(t, asked)
	shown := 0
	for _, line := range []string{
		"attack " + id, "status", "attacks", "explain attack=" + id, "report attack=" + id, "deny attack=" + id, "patch attack=" + id, "contain attack=" + id,
		"patch GET shop.example.com" + path + " type=sqli part=get.q", "block-path GET shop.example.com" + path + " for=30m", "rules", "audit", "lists", "undo attack=" + id,
	} {
		res, err := w.try(root, line)
		said := textOf(res) + "\n" + res.Document
		if err != nil {
			said += err.Error()
		}
		for part := range strings.Lines(said) {
			require.False(t, endsEarly.MatchString(strings.TrimSpace(part)), "%.40s: %.300q", line, part)
			if strings.Contains(part, "/log") {
				shown++
			}
		}
	}
	require.Greater(t, shown, 6)
}
