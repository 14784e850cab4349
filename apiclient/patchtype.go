package apiclient

import "slices"

// PatchTypes are the attack types a virtual patch can stop, without "any", which closes its whole scope.
func PatchTypes() []string {
	return []string{"xss", "sqli", "rce", "xxe", "ptrav", "crlf", "redir", "nosqli", "ldapi", "scanner", "mass_assignment",
		"ssrf", "ssi", "mail_injection", "ssti", "invalid_xml"}
}

// Patchable reports whether a virtual patch can stop attacks of the type.
func Patchable(attackType string) bool { return slices.Contains(PatchTypes(), attackType) }
