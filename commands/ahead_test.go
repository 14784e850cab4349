package commands_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
)

// What a line needs of the service is being read while it is checked. A refusal doesn't wait for that, and who may change nothing has nothing read.
func TestARefusalDoesNotWaitForTheService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sources(cdn))
	w.refuses(eve, "deny 203.0.113.7", refusal.ErrDenied)
	require.Empty(t, w.service.Requests(""))
	w.fault("GET /v4/ip_rules", "hang", 0)
	w.refuses(root, "deny 192.0.2.1", refusal.ErrGuarded, "our CDN")
}
