package call

// Flags of lines whose dialog said what the click would else be asked about.
const (
	FlagShared = "shared" // the source is likely shared by many
	FlagLocked = "locked" // the rules are locked
)
