// Package full tells the tests of make full from those that people run between two edits.
//
// make test runs every test once, with the race detector, small. make full runs them once more without it, and with
// what takes long: large tables, rounds of faults, the built program, servers that fail.
package full

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Variable is set by make full. It isn't one of wafbot's: the program refuses those that it doesn't know.
const Variable = "FULL_TESTS"

// On reports whether make full runs the tests.
func On() bool { return os.Getenv(Variable) != "" }

// Only leaves a test to make full. What it shows of the code must be shown small by another test, or need what only
// make full has.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("make full runs it")
	}
}

// Some are few of all, spread evenly, or all of them in make full.
func Some[T any](few int, all []T) []T {
	if On() || few >= len(all) {
		return all
	}
	some := make([]T, few)
	for i := range some {
		some[i] = all[i*len(all)/few]
	}
	return some
}

// Of is how many cases a table has: few, or all of them in make full.
func Of(few, all int) int {
	if On() {
		return all
	}
	return few
}

// Checks sets how often rapid tries each property. TestMain calls it; -rapid.checks on the command line overrides it.
func Checks(few, all int) { _ = flag.Set("rapid.checks", strconv.Itoa(Of(few, all))) }
