package config

// Variables are the keys that environment variables set, by the variable's name.
func Variables() map[string]string {
	all := map[string]string{}
	for _, l := range (&Config{Accounts: make([]Account, 1)}).leaves() {
		if name := l.variable(); name != "" {
			all[name] = l.key
		}
	}
	return all
}
