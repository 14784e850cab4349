package commands

import "time"

// File is what is stored about an attack beside the attack itself, from which its card is drawn.
type File struct {
	Changes []Change          // all of the account's, the newest first
	Effects map[string]Effect // what was seen of changes, by their ids
	Case    Case
	Scene   Scene
	Page    Page      // the last one; zero: its pager was never called
	Good    time.Time // the last good poll, on the service's clock; zero: there was none
	Blind   Spell     // in which the account can't be watched now; zero: it can
}
