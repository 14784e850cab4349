package call

import (
	"github.com/wafbot/wafbot/internal/record"
)

// Rights is what a person may do, as far as that is known.
type Rights struct {
	Role   record.Role
	Name   string      // as the workspace knows it
	Group  string      // the id of the user group that gives the role; "": none does
	Was    record.Role // by user groups as they were last known, when they can't be looked up
	Could  record.Role // the highest role that a user group may give, likewise
	Unsure bool        // the workspace did not say who it is
}
