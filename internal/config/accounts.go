package config

// defaultsKey holds what every account begins with.
const defaultsKey = "account_defaults"

// elsewhere says where a key is to be written that stands at the wrong place although the value there has a field for it; "": it stands where it belongs.
func elsewhere(key, name string) string {
	if key == defaultsKey && (name == "name" || name == "token" || name == "client_id") {
		return "is each account's own; write it there"
	}
	return ""
}
