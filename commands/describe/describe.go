// Package describe says in a line what a record is, for people: an attack, a change, an entry, a storm, a drill.
package describe
