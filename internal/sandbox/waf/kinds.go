package waf

import "strings"

// kind describes an attack type.
type kind struct {
	label  string
	threat int
	target string
	// clean: single requests look harmless, so the node passes them even where it blocks attacks.
	clean bool
	// codes are the statuses with which the application answers such requests.
	codes []int
}

func kindOf(attackType string) kind {
	server := func(label string, threat int) kind { return kind{label, threat, "server", false, []int{200, 500}} }
	client := func(label string, threat int) kind { return kind{label, threat, "client", false, []int{200}} }
	clean := func(label string, threat int, codes ...int) kind { return kind{label, threat, "server", true, codes} }
	switch attackType {
	case "sqli":
		return server("SQL Injection", 90)
	case "rce":
		return server("Remote Code Execution", 100)
	case "xss":
		return client("Cross-site Scripting", 60)
	case "xxe":
		return server("XML External Entity", 80)
	case "ptrav":
		return server("Path Traversal", 70)
	case "crlf":
		return client("CRLF Injection", 50)
	case "redir":
		return client("Open Redirect", 40)
	case "nosqli":
		return server("NoSQL Injection", 90)
	case "ldapi":
		return server("LDAP Injection", 80)
	case "ssrf":
		return server("Server-side Request Forgery", 80)
	case "ssti":
		return server("Server-side Template Injection", 90)
	case "scanner":
		return kind{"Scanner", 20, "server", false, []int{404}}
	case "brute":
		return clean("Brute force", 50, 200, 401)
	case "credential_stuffing":
		return clean("Credential Stuffing", 60, 200, 401)
	case "dirbust":
		return clean("Forced browsing", 40, 404)
	case "bola":
		return clean("BOLA", 70, 200, 404)
	case "api_abuse":
		return clean("API abuse", 50, 200)
	case blockedSource:
		return server("Blocked source", 20)
	case virtualPatch:
		return server("Virtual patch", 50)
	}
	return server(strings.ToUpper(attackType), 50)
}
