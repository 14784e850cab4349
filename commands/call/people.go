package call

import (
	"errors"
	"fmt"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// reference names a fault to a person so that it can be found in the log.
func reference(inv Invocation) string {
	return "e" + record.ShortHash(inv.ID, fmt.Sprint(inv.At.UnixNano()))
}

// ForPeople is what a person may be shown of an error: the words of a refusal, or a reference to the log.
func ForPeople(inv Invocation, err error) (words text.Text, ref string) {
	var refusal *refusal.Refusal
	if errors.As(err, &refusal) {
		return refusal.Text, ""
	}
	ref = reference(inv)
	return text.New("Something went wrong inside wafbot. Nothing more is known here; reference ", text.Code(ref), " in its log"), ref
}
