// Package record defines each stored record and each event once. It reads and writes nothing.
package record
