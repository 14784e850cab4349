// Package norace lets a test run without the race detector, which makes some tests up to nine times as long. scripts/test runs them a second time.
package norace

import (
	"fmt"
	"os"
	"testing"
)

// variable names the file in which scripts/test collects the tests to run again. It is set only where the race detector is on.
const variable = "TESTS_WITHOUT_RACE"

// Defer skips the test where scripts/test runs it again without the race detector. Everywhere else the test goes on.
// It is for top-level tests that compute much and share nothing: other tests must run the same code with the race detector. It comes first in the test.
func Defer(t testing.TB) {
	t.Helper()
	file := os.Getenv(variable)
	if file == "" {
		return
	}
	if err := record(file, t.Name()); err != nil {
		t.Fatalf("defer test: %v", err)
	}
	t.Skip("runs later, without the race detector")
}

// record appends a line with the test's folder and name. One write keeps lines of processes that run at the same time apart.
func record(file, name string) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(f, "%s\t%s\n", folder, name); err != nil {
		return err
	}
	return f.Close()
}
