package call

import (
	"github.com/wafbot/wafbot/internal/record"
)

// Decision is what a person decided about an approval request.
type Decision struct {
	Request record.ApprovalRequest
	As      record.RequestState
	Why     string
	Line    record.Line // to carry out as the asker's; none of a rejection
	Begun   bool        // decided by this very delivery before, or cut short
}
