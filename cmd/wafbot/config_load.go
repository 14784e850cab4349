package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// loadConfig reads the file at path, or the one WAFBOT_CONFIG names, or none, and then the environment, which wins. Its error
// is a *configError with every problem there is. Relative paths in the file start at the file's folder.
func loadConfig(path string, environ []string) (*Config, error) {
	variables := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	if path == "" {
		path = variables[configFileVariable]
	}
	o := &origins{keys: map[string]origin{}}
	c := defaultConfig()
	c.origins = o
	if path != "" {
		o.root = position{file: path, line: 1, col: 1}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read config: %w", err)
		}
		d := decoder{origins: o, environ: variables}
		if !d.file(bytes.NewReader(data), c) {
			return nil, o.err()
		}
		c.rebase(filepath.Dir(path))
	}
	o.environment(c, variables)
	c.readFiles()
	c.check()
	if err := o.err(); err != nil {
		return nil, err
	}
	return c, nil
}
