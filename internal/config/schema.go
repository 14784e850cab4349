package config

import _ "embed" // the schema is a file, which editors read, too

// Schema is the JSON schema of configurations: every key with what it means, its default and what it may be. Tests write it from the tags of Config and from
// docs/config.md.
//
//go:embed wafbot.schema.json
var Schema []byte
