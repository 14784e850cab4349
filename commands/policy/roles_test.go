package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
)

// team is a workspace by its id at Slack.
type team string

func (t team) Team() string { return string(t) }

// An id that begins with a workspace's counts there alone, and nowhere while it isn't known which workspace that is.
func TestIDsOfWorkspaces(t *testing.T) {
	t.Parallel()
	roles := policy.Roles{
		Viewers: []string{"*"}, Responders: []string{"T0HQ/S0OPS", "U0BARE", "T0EMEA/U0ROB"}, Admins: []string{"T0HQ/U0ANN", "T0EMEA/S0SEC"},
		Terminal: map[string]policy.TerminalUser{"ann": {Role: record.Admin, Slack: "T0HQ/U0ANN"}},
	}
	for where, want := range map[policy.Workspace]struct {
		ann, rob record.Role
		groups   []string
		atShell  string
	}{
		team("T0HQ"):   {record.Admin, record.Viewer, []string{"S0OPS"}, "U0ANN"},
		team("T0EMEA"): {record.Viewer, record.Responder, []string{"S0SEC"}, ""},
		team(""):       {record.Viewer, record.Viewer, nil, ""},
		nil:            {record.Viewer, record.Viewer, nil, ""},
	} {
		here := roles
		here.Workspace = where
		require.Equal(t, want.ann, here.Of("U0ANN"), where)
		require.Equal(t, want.rob, here.Of("U0ROB"), where)
		require.Equal(t, record.Responder, here.Of("U0BARE"), where)
		require.Equal(t, record.Viewer, here.Of("T0HQ/U0ANN"), "what is delivered is never taken for such an id")
		require.ElementsMatch(t, want.groups, here.Groups(), where)
		require.Equal(t, want.atShell, here.TerminalUser(record.Actor{ID: "cli:ann"}).Slack, where)
		require.NotContains(t, here.List(record.Responder), "T0HQ/U0ANN", "as people are mentioned")
	}
}
