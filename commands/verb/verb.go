package verb

import (
	"github.com/wafbot/wafbot/commands/call"
)

// list is all the verbs, in the order of help. A new command is one file and one line here.
func All() []*call.Command {
	return []*call.Command{
		status(), incidents(), attacks(), attack(), vulns(), summary(),
		contain(), deny(), allow(), gray(), lists(), remove(),
		patch(), closePath(), indicator(), mode(), rules(), conditions(), unrule(),
		undo(), extend(), approve(), reject(), alone(),
		claim(), release(), handover(), note(), verdict(), mute(), unmute(), explain(), reportCommand(), cards(),
		protect(), unprotect(), sources(),
		audit(), drill(), whoami(), help(),
	}
}
