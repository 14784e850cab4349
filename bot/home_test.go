package bot

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFormOpenedInTheHomeTabIsAnsweredThere(t *testing.T) {
	t.Parallel()
	click := payload{}
	require.NoError(t, json.Unmarshal([]byte(`{"type":"block_actions","user":{"id":"U0ANN"},"container":{"type":"view"},"view":{"id":"V1","type":"home"}}`), &click))
	at := delivery{names: []string{"d1"}}
	req := click.request(at)
	require.True(t, req.Home)
	meta, err := json.Marshal(req.meta())
	require.NoError(t, err)
	form := payload{Type: "view_submission"}
	form.View.ID, form.View.Type, form.View.Meta = "V2", "modal", string(meta)
	require.True(t, form.request(at).Home)
	form.View.Meta = `{"channel":"C1"}`
	require.False(t, form.request(at).Home)
}
