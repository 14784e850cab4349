// Package verb has one file per command: its description, the facts that it needs, and its pure plan or answer.
package verb

import (
	"github.com/wafbot/wafbot/commands/call"
)

// All is all the verbs, in the order of help. A new command is one file and one line here.
func All() []*call.Command {
	return []*call.Command{
		status(), incidents(), attacks(), attack(), vulns(), summary(),
		contain(), deny(), allow(), gray(), lists(), remove(),
		patch(), blockPath(), indicator(), mode(), rules(), conditions(), deleteRule(),
		undo(), extend(), approve(), reject(), override(),
		ack(), unack(), handover(), note(), verdict(), mute(), unmute(), explain(), reportCommand(), cards(),
		protect(), unprotect(), sources(),
		audit(), drill(), whoami(), help(),
	}
}
