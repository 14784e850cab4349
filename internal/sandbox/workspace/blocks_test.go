package workspace_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"
)

func section(text string) string {
	return fmt.Sprintf(`{"type":"section","text":{"type":"mrkdwn","text":%q}}`, text)
}

func overflow(options int) string {
	option := `{"text":{"type":"plain_text","text":"x"},"value":"v"}`
	list := strings.TrimSuffix(strings.Repeat(option+",", options), ",")
	return `{"type":"actions","elements":[{"type":"overflow","action_id":"o","options":[` + list + `]}]}`
}

func button(text, action string) string {
	return fmt.Sprintf(`{"type":"button","action_id":%q,"text":{"type":"plain_text","text":%q}}`, action, text)
}

func linking(address string) string {
	return fmt.Sprintf(`{"type":"button","action_id":"a","text":{"type":"plain_text","text":"x"},"url":%q}`, address)
}

func image(address string) string {
	return fmt.Sprintf(`{"type":"image","alt_text":"x","image_url":%q}`, address)
}

func actions(elements ...string) string {
	return `{"type":"actions","elements":[` + strings.Join(elements, ",") + `]}`
}

func TestBlocksAreRefusedAsSlackRefusesThem(t *testing.T) {
	t.Parallel()
	w := start(t)
	tests := []struct{ name, blocks, err, problem string }{
		{"fits exactly", section(strings.Repeat("ü", 3000)), "", ""},
		{"text too long", section("ok") + "," + section(strings.Repeat("ü", 3001)), "invalid_blocks", "must be less than 3001 characters [json-pointer:/blocks/1/text/text]"},
		{"empty text", section(""), "invalid_blocks", "must be more than 0 characters [json-pointer:/blocks/0/text/text]"},
		{"empty section", `{"type":"section"}`, "invalid_blocks", "must provide text or fields [json-pointer:/blocks/0]"},
		{"unknown block", `{"type":"marquee"}`, "invalid_blocks", "unsupported type [json-pointer:/blocks/0/type]"},
		{"alert in a message", `{"type":"alert","text":{"type":"plain_text","text":"x"}}`, "invalid_blocks", "unsupported type [json-pointer:/blocks/0/type]"},
		{"unknown element", actions(`{"type":"lever"}`), "invalid_blocks", "unsupported type [json-pointer:/blocks/0/elements/0/type]"},
		{"unknown field", `{"type":"divider","colour":"red"}`, "invalid_blocks", "invalid additional property: colour [json-pointer:/blocks/0]"},
		{"label too long", actions(button(strings.Repeat("x", 76), "a")), "invalid_blocks", "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]"},
		{"mrkdwn on a button", actions(`{"type":"button","text":{"type":"mrkdwn","text":"x"}}`), "invalid_blocks", "unsupported type: mrkdwn [json-pointer:/blocks/0/elements/0/text/type]"},
		{"no buttons", actions(), "invalid_blocks", "no less than 1 items allowed [json-pointer:/blocks/0/elements]"},
		{"header is mrkdwn", `{"type":"header"}`, "invalid_blocks", "missing required field: text [json-pointer:/blocks/0]"},
		{"overflow of none", overflow(0), "invalid_blocks", "must have 1 to 5 options, has 0 [json-pointer:/blocks/0/elements/0/options]"},
		{"overflow of one", overflow(1), "", ""},
		{"overflow of six", overflow(6), "invalid_blocks", "must have 1 to 5 options, has 6 [json-pointer:/blocks/0/elements/0/options]"},
		{"doubled action", actions(button("x", "a"), button("y", "a")), "invalid_blocks", "action_id already exists: a [json-pointer:/blocks/0/elements/1/action_id]"},
		{"the same action in two blocks", actions(button("x", "a")) + "," + actions(button("y", "a")), "", ""},
		{"a button's address", actions(linking("https://shop.example.com/x?y")), "", ""},
		{"a button's address is none", actions(linking("not a url")), "invalid_blocks", "must be a valid URL [json-pointer:/blocks/0/elements/0/url]"},
		{"a button's address is a script", actions(linking("javascript:alert(1)")), "invalid_blocks", "must be a valid URL [json-pointer:/blocks/0/elements/0/url]"},
		{"an image", image("https://shop.example.com/x.png"), "", ""},
		{"an image of no address", image("x.png"), "invalid_blocks", "must be a valid URL [json-pointer:/blocks/0/image_url]"},
		{"an image inside", image("data:image/png;base64,aGk="), "invalid_blocks", "must be a valid URL [json-pointer:/blocks/0/image_url]"},
		{"an image's long address", image("https://x.example/" + strings.Repeat("x", 2983)), "invalid_blocks", "must be less than 3001 characters [json-pointer:/blocks/0/image_url]"},
		{"doubled block", `{"type":"divider","block_id":"b"},{"type":"divider","block_id":"b"}`, "invalid_blocks", "block_id already exists: b [json-pointer:/blocks/1/block_id]"},
		{"fifty blocks", strings.Repeat(`{"type":"divider"},`, 49) + `{"type":"divider"}`, "", ""},
		{"fifty-one blocks", strings.Repeat(`{"type":"divider"},`, 50) + `{"type":"divider"}`, "invalid_blocks", "no more than 50 items allowed [json-pointer:/blocks]"},
		{"all together fit", strings.Repeat(section(strings.Repeat("ü", 3000))+",", 3) + section(strings.Repeat("x", 3000)), "", ""},
		{"all together too long", strings.Repeat(section(strings.Repeat("ü", 3000))+",", 4) + section("x"), "msg_blocks_too_long", ""},
		{"no JSON", `{"type"`, "invalid_blocks_format", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			form := url.Values{"channel": {"C1WAF"}, "text": {"fallback"}, "blocks": {"[" + test.blocks + "]"}}
			status, _, body := raw(t, w.base+"/api/chat.postMessage", "application/x-www-form-urlencoded", form.Encode())
			require.Equal(t, 200, status)
			var got struct {
				OK     bool
				Error  string
				Errors []string
				Meta   struct{ Messages []string } `json:"response_metadata"`
			}
			require.NoError(t, json.Unmarshal([]byte(body), &got))
			require.Equal(t, test.err, got.Error, body)
			require.Equal(t, test.err == "", got.OK)
			if test.problem != "" {
				require.Contains(t, got.Errors, test.problem)
				require.Contains(t, got.Meta.Messages, "[ERROR] "+test.problem)
				require.Len(t, got.Errors, 1)
			}
		})
	}
}

func TestBlocksOfAttachmentsAreChecked(t *testing.T) {
	t.Parallel()
	w := start(t)
	bar := func(text string) slack.MsgOption {
		blocks := slack.Blocks{BlockSet: []slack.Block{slack.NewSectionBlock(mrkdwn(text), nil, nil)}}
		return slack.MsgOptionAttachments(slack.Attachment{Color: "#a30200", Blocks: blocks})
	}
	w.post(t, "C1WAF", bar("fine"))
	_, _, err := w.client.PostMessageContext(t.Context(), "C1WAF", bar(strings.Repeat("x", 3001)))
	refused(t, "invalid_blocks", err)
	var refusal slack.SlackErrorResponse
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, []string{"[ERROR] must be less than 3001 characters [json-pointer:/attachments/0/blocks/0/text/text]"}, refusal.ResponseMetadata.Messages)
	_, _, err = w.client.PostMessageContext(t.Context(), "C1WAF", slack.MsgOptionAttachments(make([]slack.Attachment, 101)...))
	refused(t, "too_many_attachments", err)
}

func TestBlocksWithoutIDsGetSome(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.post(t, "C1WAF", slack.MsgOptionBlocks(slack.NewActionBlock("", slack.NewButtonBlockElement("", "v", plain("Go")))))
	m := w.Messages("#waf")[0]
	require.Contains(t, string(m.Blocks), `"block_id":"`)
	require.NotEmpty(t, m.Buttons()[0].ActionID)
}

func TestMetadataIsChecked(t *testing.T) {
	t.Parallel()
	w := start(t)
	for name, metadata := range map[string]string{
		"":                        `{"event_type":"card","event_payload":{"id":"d1"}}`,
		"invalid_metadata_format": `{"event_type`,
		"invalid_metadata_schema": `{"event_type":"card","event_payload":["d1"]}`,
		"metadata_too_large":      `{"event_type":"card","event_payload":{"id":"` + strings.Repeat("x", 1024) + `"}}`,
	} {
		form := url.Values{"channel": {"C1WAF"}, "text": {"x"}, "metadata": {metadata}}
		_, _, body := raw(t, w.base+"/api/chat.postMessage", "application/x-www-form-urlencoded", form.Encode())
		var got struct{ Error string }
		require.NoError(t, json.Unmarshal([]byte(body), &got))
		require.Equal(t, name, got.Error)
	}
	require.Len(t, w.Messages("#waf"), 1)
}
