package refusal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/text"
)

// FromService makes a refusal of an error of the service; a refusal stays as it is.
func FromService(err error) error {
	var refused *Refusal
	if errors.As(err, &refused) {
		return err
	}
	var words text.Text
	switch apiclient.KindOf(err) {
	case apiclient.Unauthenticated:
		words = text.New("the service doesn't accept wafbot's token any more: who manages it must renew it")
	case apiclient.Forbidden:
		words = text.New("the service doesn't allow this to wafbot's token: it lacks the permission, which an admin of the service can give it")
	case apiclient.Invalid:
		words = text.New("the service refused it as invalid: ", serviceWords(err))
	case apiclient.Exists:
		words = text.New("the service has an entry like that already, made meanwhile or in another form: see ", text.Code("lists"))
	case apiclient.NotFound:
		words = text.New("the service doesn't find it: another user may have removed it")
	case apiclient.Locked:
		words = text.New("the service has locked its rules just now: try again in some minutes")
	case apiclient.RateLimited:
		words = text.New("the service takes no more requests just now: try again in a minute")
	case apiclient.Server:
		words = text.New("the service answered with an error of its own: try again, or use its console")
	case apiclient.Network:
		words = text.New("the service can't be reached: try again, or use its console")
	default:
		return err
	}
	return &Refusal{Kind: ErrService, Text: words, Cause: err}
}

// NotBegun is FromService of what failed before anything was sent, and says that.
func NotBegun(err error) error {
	err = FromService(err)
	if refused := (*Refusal)(nil); errors.Is(err, ErrService) && errors.As(err, &refused) {
		said := *refused
		said.Text = text.New(refused.Text, ". Nothing was done")
		return &said
	}
	return err
}

func serviceWords(err error) string {
	var e *apiclient.Error
	if !errors.As(err, &e) {
		return "no reason given"
	}
	words := e.Message
	for _, field := range slices.Sorted(maps.Keys(e.Fields)) {
		words += fmt.Sprintf(" %s %s", field, e.Fields[field])
	}
	return cmp.Or(strings.TrimSpace(words), "no reason given")
}
