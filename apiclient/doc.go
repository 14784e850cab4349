// Package apiclient is a Go client of the application-protection service: one method per call, and the only place that
// knows the service's JSON. It imports nothing of this project, so that anybody can use it.
//
// A Client is for one account and may be used by many goroutines. What its methods return is read in this way: answer →
// unwrap (envelope, status inside it) → listed (cut into records, bounded) → decode (each member straight into the
// field whose tag "api" names it) → the caller.
//
// Rules:
//   - Every error is an *Error with a Kind. OutcomeUnknown says that a change may have taken effect all the same: read
//     first what is there, then send again. It stays true when a later try is refused for certain.
//   - Each call has an effect: reading, changing (the same when sent twice) or once (not sent again by itself after an
//     unknown outcome). The HTTP method doesn't show it, because the service reads with POST.
//   - Refused for a lock or a limit, or not connected, nothing was done: that is repeated whatever the effect.
//   - A member that is absent, null or of another type leaves its field as it is, and never costs the rest of the
//     record. Numbers may come as text and text as numbers. An unknown Figure isn't 0.
//   - A condition that can't be read stays, as an empty one: with one less, a rule would seem to reach further.
//   - A record of another client is left out, counted, and fails its listing or change with Foreign.
//   - Nothing grows without end: answers end at 8 MiB, lists of one answer at 2,000 records, listings at 200,000
//     records or 256 MiB, texts of attacks at 1,000 bytes, paths at 8 KiB. A single record that makes an answer too
//     long is skipped and named (TooLong).
//   - A record whose bytes the caller knows already (AttackFilter.Known) isn't read again.
//   - The token shows nowhere: not in errors, logs or JSON, and no redirect is followed with it.
//   - Times are UTC, in whole seconds. Retry-After is obeyed up to two minutes.
//
// Files:
//   - apiclient.go: Config, Client, its HTTP client, and the user's call
//   - call.go: sending a call: effects, tries, pauses, reading the answer; Secret and the token's file
//   - decode.go: what JSON becomes: envelopes, lists, records, Figure
//   - listing.go: listings page by page; records that are too long, and those of other clients
//   - attack.go: attacks and incidents; aggregation.go: attacks by day; vulnerability.go: vulnerabilities
//   - iprule.go: the IP lists
//   - rule.go: rules and sets of conditions; condition.go: scopes, their comparison, and whether an attack meets
//     them; point.go: which part of a request; path.go: which paths, and hosts and paths as rules have them
//   - errors.go: Error and its kinds
//
// The trap: a listing lags the service's own writes by seconds, and its pages shift while they are read. What was just
// made and isn't listed is unknown, not gone; a record can come twice, and Attack.ID is the only identity.
package apiclient
