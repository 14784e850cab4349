package redistest_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/redistest"
)

// say sends one command and returns the first line of the answer.
func say(t *testing.T, addr, command string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "%s\r\n", command)
	require.NoError(t, err)
	answer := bufio.NewReader(conn)
	line, err := answer.ReadString('\n')
	require.NoError(t, err)
	if strings.HasPrefix(line, "$") && line != "$-1\r\n" {
		line, err = answer.ReadString('\n')
		require.NoError(t, err)
	}
	return strings.TrimSpace(line)
}

func TestAServerComesBackWithWhatItHeldOrEmpty(t *testing.T) {
	if testing.Short() {
		t.Skip("starts redis-server")
	}
	t.Parallel()
	s := redistest.StartDurable(t)
	require.Equal(t, "+OK", say(t, s.Addr, "SET k v"))
	s.Kill()
	require.False(t, s.Alive())
	require.NoError(t, s.Restart())
	require.Equal(t, "v", say(t, s.Addr, "GET k"))
	require.NoError(t, s.Empty())
	require.Equal(t, "$-1", say(t, s.Addr, "GET k"))
}

func TestAnotherMasterIsPromoted(t *testing.T) {
	full.Only(t)
	t.Parallel()
	for _, tt := range []struct {
		name    string
		start   func(testing.TB, *redistest.Secured) *redistest.Set
		masters int
	}{
		{"cluster", redistest.StartCluster, 3},
		{"sentinel", redistest.StartSentinel, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := tt.start(t, nil)
			before := set.Masters()
			require.Len(t, before, tt.masters)
			killed, err := set.KillMaster(0)
			require.NoError(t, err)
			require.Equal(t, before[0], killed)
			after := set.Masters()
			require.Len(t, after, tt.masters)
			require.NotContains(t, after, killed)
			require.NoError(t, killed.Restart())
			require.NoError(t, set.Whole())
		})
	}
}
