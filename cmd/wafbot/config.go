package main

import (
	"cmp"
	"fmt"

	"github.com/wafbot/wafbot/internal/config"
)

// configCmd checks and shows configurations.
type configCmd struct {
	Check  configCheckCmd  `cmd:"" help:"Checks a file and the environment as serve does. Lists every problem as FILE:LINE:COLUMN."`
	Schema configSchemaCmd `cmd:"" help:"Prints the JSON schema of configurations, for editors."`
	Show   configShowCmd   `cmd:"" help:"Prints the configuration as it counts, with defaults, environment and merges filled in, without secrets."`
}

type configCheckCmd struct {
	File string `arg:"" optional:"" help:"The configuration file; left out: WAFBOT_CONFIG, else the environment alone."`
}

// Run fails with every problem.
func (c *configCheckCmd) Run(t *terminal) error {
	cfg, err := loadToServe(c.File, t.environ)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "%s: right, accounts: %d\n", cmp.Or(cfg.File(), "environment"), len(cfg.Accounts))
	return nil
}

// loadToServe loads a configuration that serve can work with.
func loadToServe(file string, environ []string) (*config.Config, error) {
	cfg, err := config.Load(file, environ)
	if err == nil {
		err = cfg.CheckServe()
	}
	if err != nil {
		return nil, misused{err}
	}
	return cfg, nil
}

type configSchemaCmd struct{}

// Run prints the schema.
func (*configSchemaCmd) Run(t *terminal) error {
	_, err := t.out.Write(config.Schema)
	return err
}

type configShowCmd struct {
	File string `arg:"" optional:"" help:"The configuration file; left out: WAFBOT_CONFIG, else the environment alone."`
}

// Run prints the configuration.
func (c *configShowCmd) Run(t *terminal) error {
	cfg, err := config.Load(c.File, t.environ)
	if err != nil {
		return misused{err}
	}
	text, err := cfg.Show()
	if err != nil {
		return fmt.Errorf("show configuration: %w", err)
	}
	_, err = t.out.Write(text)
	return err
}
