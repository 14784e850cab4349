package apiclient_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/apiclient"
)

// A record whose bytes are known is not read again; the slightest change of them makes it unknown.
func TestKnownRecordsAreNotReadAgain(t *testing.T) {
	t.Parallel()
	record := func(id string, hits int) string {
		return fmt.Sprintf(`{"attackid":%q,"hits":%d,"path":"/[]{},\"\\","ip_top":[{"ip":"192.0.2.1"}]}`, id, hits)
	}
	text := `{"status":200,"body":[` + record("a", 1) + `, ` + record("b", 2) + "\n,7," + record("c", 3) + `]}`
	changed := strings.Replace(text, `"hits":2`, `"hits":4`, 1)
	transport := &canned{200, text}
	c := readingBy(t, transport)
	known := &sums{}
	page := func() (p apiclient.AttackPage) {
		for p, err := range c.Attacks(t.Context(), apiclient.AttackFilter{Known: known.Known}) {
			require.NoError(t, err)
			return p
		}
		return p
	}
	all := page()
	require.Equal(t, []string{"a", "b", "c"}, idsOf(all.Attacks))
	require.Equal(t, `/[]{},"\`, all.Attacks[0].Path)
	require.Empty(t, all.Known)
	require.Len(t, all.Sums, 3)
	known.all = all.Sums
	again := page()
	require.Empty(t, again.Attacks)
	require.Equal(t, all.Sums, again.Known)
	transport.text = changed
	require.Equal(t, []string{"b"}, idsOf(page().Attacks))
}

// A record that was stored is equal to the same one when it is read again: after a restart it hasn't changed.
func TestAStoredRecordIsTheOneThatIsReadAgain(t *testing.T) {
	t.Parallel()
	text := `{"status":200,"body":[{"attackid":"a","statuscodes":[99],"ip_top":[],"country_top":[],"first_time":1}]}`
	for page, err := range readingBy(t, &canned{200, text}).Attacks(t.Context(), apiclient.AttackFilter{}) {
		require.NoError(t, err)
		stored, err := json.Marshal(page.Attacks[0])
		require.NoError(t, err)
		var again apiclient.Attack
		require.NoError(t, json.Unmarshal(stored, &again))
		require.True(t, page.Attacks[0].Equal(again))
		break
	}
}

// sums are those of the records that are known.
type sums struct{ all []uint64 }

// Known reports whether a record is known.
func (s *sums) Known(sum uint64) bool { return slices.Contains(s.all, sum) }

func idsOf(all []apiclient.Attack) (ids []string) {
	for _, a := range all {
		ids = append(ids, a.ID)
	}
	return ids
}

// Whatever the service says around and in its records: they are read as the standard library would.
func TestRecordsAreCutAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 0, 5).Draw(rt, "texts")
		list := []map[string]any{}
		for i, text := range texts {
			list = append(list, map[string]any{
				"attackid": fmt.Sprint(i), "domain": text, "other": map[string]any{text: []any{text, nil, 1.5, true, map[string]any{}}}, "hits": i,
			})
		}
		var body any = list
		if key := rapid.SampledFrom([]string{"", "objects", "data"}).Draw(rt, "key"); key != "" {
			body = map[string]any{key: list, "more": texts}
		}
		if rapid.Bool().Draw(rt, "envelope") || len(texts) == 0 {
			body = map[string]any{"status": 200, "body": body}
		}
		data, err := json.MarshalIndent(body, rapid.SampledFrom([]string{"", " \t"}).Draw(rt, "prefix"), rapid.SampledFrom([]string{"", "\t"}).Draw(rt, "indent"))
		require.NoError(t, err)
		got := readAttacks(t, string(data))
		require.Len(t, got, len(texts))
		for i, a := range got {
			var want string
			plain, err := json.Marshal(texts[i])
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(plain, &want))
			if len(want) < 1000 {
				require.Equal(t, want, a.Domain)
			}
			require.Equal(t, apiclient.Known(int64(i)), a.Hits)
		}
		end := rapid.IntRange(1, len(data)-1).Draw(rt, "end")
		for _, err := range reading(t, 200, string(data[:end])).Attacks(t.Context(), apiclient.AttackFilter{}) {
			require.Error(t, err, "cut short: %s", data[:end])
		}
	})
}

// Equal compares every field.
func TestEqualAttacks(t *testing.T) {
	t.Parallel()
	full := readAttacks(t, `[`+strings.Replace(strings.Replace(fullAttack, `"vulnid":null`, `"vulnid":7`, 1), `"state":null`, `"state":"x"`, 1)+`]`)[0]
	require.True(t, full.Equal(readAttacks(t, `[`+strings.Replace(strings.Replace(fullAttack, `"vulnid":null`, `"vulnid":7`, 1), `"state":null`, `"state":"x"`, 1)+`]`)[0]))
	for i := range reflect.TypeFor[apiclient.Attack]().NumField() {
		other := full
		field := reflect.ValueOf(&other).Elem().Field(i)
		require.False(t, field.IsZero(), "%d", i)
		field.SetZero()
		require.False(t, full.Equal(other), reflect.TypeFor[apiclient.Attack]().Field(i).Name)
	}
}
