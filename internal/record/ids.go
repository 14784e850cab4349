package record

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
)

// crockford is base32 without the letters a tired reader mixes up.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// ShortHash is 8 characters of the SHA-256 over the parts.
func ShortHash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return crockford.EncodeToString(sum[:])[:8]
}

// AttackID is what a person types for an attack: "a" and 8 characters, for a storm "s" and 8. It depends on the account
// and the service's id alone, so it is the same after Redis was lost.
func AttackID(account, attackid string) string {
	if IsStorm(attackid) {
		return "s" + ShortHash(account, attackid)
	}
	return "a" + ShortHash(account, attackid)
}

// IsAttackID reports whether text is an id that AttackID makes.
func IsAttackID(text string) bool { return IsID('a', text) || IsID('s', text) }

// ChangeID names a change by the delivery that asks for it, and by which of its changes it is, so that a redelivery
// finds what was begun.
func ChangeID(account, delivery, part string) string {
	return "c" + ShortHash(account, delivery, part)
}

// NoteID names a note by the delivery that asks for it, so that a redelivery finds what was noted.
func NoteID(account, delivery string) string { return "n" + ShortHash(account, delivery) }

// MuteID names a mute by what it mutes, so that there is one of each.
func MuteID(account, what string) string { return "m" + ShortHash(account, what) }

// RequestID names a request for a second person by the delivery that asks for it, so that a redelivery finds what was
// written down.
func RequestID(account, delivery string) string { return "r" + ShortHash(account, delivery) }

// ProtectedID names what is protected by its range, so that there is one of each.
func ProtectedID(account, what string) string { return "p" + ShortHash(account, what) }

// MinPrefix is how many characters of an id must be typed, the leading letter included.
const MinPrefix = 4

// FoldID brings an id as typed into the form it was made in: Crockford's alphabet reads i and l as 1, o as 0.
func FoldID(typed string) string {
	typed = strings.ToLower(strings.TrimSpace(typed))
	if typed == "" {
		return ""
	}
	return typed[:1] + strings.NewReplacer("i", "1", "l", "1", "o", "0").Replace(typed[1:])
}

// MatchID reports whether id is what was typed or begins with it.
func MatchID(id, typed string) bool {
	return len(typed) >= MinPrefix && strings.HasPrefix(id, FoldID(typed))
}

// IsID reports whether text is an id that begins with that letter.
func IsID(letter byte, text string) bool {
	if len(text) != 9 || text[0] != letter {
		return false
	}
	_, err := crockford.DecodeString(text[1:])
	return err == nil
}

// IsStorm reports whether an attack's id is that of a storm.
func IsStorm(attackid string) bool { return strings.HasPrefix(attackid, apiclient.OwnID) }
