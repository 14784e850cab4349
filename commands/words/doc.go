// Package words says what a record is, for people: an attack, a storm, a change, an entry, a person, a span of time.
// What is said of one thing in several places is said here, once; that of a card alone is in bot/card.
package words
