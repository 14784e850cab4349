// Package architecture holds the tests that keep the rules of the house: who may import whom, and how large a package,
// a type and an interface may be.
package architecture
