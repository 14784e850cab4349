package config

// Variables are the names of the environment variables that set a key, by the key.
func Variables() map[string]string {
	all := map[string]string{}
	for _, b := range bindings(&Config{}, &Account{}) {
		all[b.name] = b.key
	}
	return all
}
