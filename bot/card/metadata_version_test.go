package card

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What an older wafbot posted may mean something else by the same words.
func TestACardOfAnotherVersionIsNotRead(t *testing.T) {
	t.Parallel()
	payload := situations()["attack"].render().Metadata.EventPayload
	_, _, ok := ReadAttack("acme", payload)
	require.True(t, ok)
	payload["version"] = "1"
	_, _, ok = ReadAttack("acme", payload)
	require.False(t, ok)
}
