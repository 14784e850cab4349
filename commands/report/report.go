// Package report composes what answers show of many records at once: status, Home, hand-over, an attack's report, the
// audit log.
package report
