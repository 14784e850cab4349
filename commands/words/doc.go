// Package words says what a record is, for people: an attack, a storm, a change, an entry, a person, a span of time.
// Words that several places use are here, once; a card's own are in bot/card.
package words
