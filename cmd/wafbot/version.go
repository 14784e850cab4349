package main

import (
	"fmt"

	"github.com/wafbot/wafbot/internal/version"
)

// versionCmd prints which build this is.
type versionCmd struct{}

// Run prints it in one line.
func (*versionCmd) Run(t *terminal) error {
	_, err := fmt.Fprintln(t.out, version.Get())
	return err
}
