package text

// Limits of what strangers wrote, in code points, in lines of text.
const (
	MaxHost  = 80
	MaxPath  = 100
	MaxField = 60
)
