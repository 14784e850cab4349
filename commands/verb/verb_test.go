package verb

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryCommandIsDescribed(t *testing.T) {
	t.Parallel()
	var described []string
	for _, cmd := range All() {
		described = append(described, cmd.Name)
	}
	slices.Sort(described)
	require.Equal(t, slices.Sorted(maps.Keys(works())), described)
}
