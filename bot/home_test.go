package bot

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFormOpenedInTheHomeTabIsAnsweredThere(t *testing.T) {
	t.Parallel()
	click := Payload{}
	require.NoError(t, json.Unmarshal([]byte(`{"type":"block_actions","user":{"id":"U0ANN"},"container":{"type":"view"},"view":{"id":"V1","type":"home"}}`), &click))
	at := Delivery{Names: []string{"d1"}}
	req := click.Request(at)
	require.True(t, req.Home)
	meta, err := json.Marshal(req.Meta())
	require.NoError(t, err)
	form := Payload{Type: "view_submission"}
	form.View.ID, form.View.Type, form.View.Meta = "V2", "modal", string(meta)
	require.True(t, form.Request(at).Home)
	form.View.Meta = `{"channel":"C1"}`
	require.False(t, form.Request(at).Home)
}
