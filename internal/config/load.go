package config

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Load reads the file at path, or the one that WAFBOT_CONFIG names, or none; then the environment, which wins. If the
// configuration is wrong, the error is an *Error with every problem. Relative paths in the file start at the file's
// folder.
func Load(path string, environ []string) (*Config, error) {
	variables := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	if path == "" {
		path = variables[fileVariable]
	}
	o := &origins{keys: map[string]origin{}}
	c := Default[Config]()
	c.origins = o
	if path != "" {
		o.root = Position{File: path, Line: 1, Col: 1}
		data, err := readUpTo(path, maxFile)
		if err != nil {
			return nil, fmt.Errorf("read config: %w", err)
		}
		d := decoder{origins: o, file: path, folder: filepath.Dir(path), environ: variables}
		if !d.configuration(data, &c) {
			return nil, o.err()
		}
	}
	o.environment(&c, variables)
	c.readFiles()
	c.check()
	if err := o.err(); err != nil {
		return nil, err
	}
	return &c, nil
}

// File is the configuration file, "" if there is only the environment.
func (c *Config) File() string { return c.root.File }

// IsSet reports whether the file or a variable sets a key, such as "timezone".
func (c *Config) IsSet(key string) bool { return c.isSet(key) }
