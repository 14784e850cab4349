package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// defaultsKey holds what every account begins with.
const defaultsKey = "account_defaults"

// elsewhere says where a key is to be written that stands at the wrong place although the value there has a field for it; "": it stands where it belongs.
func elsewhere(key, name string) string {
	if key == defaultsKey && (name == "name" || name == "token" || name == "client_id") {
		return "is each account's own; write it there"
	}
	return ""
}

// accountsDir adds the accounts of each *.yaml in accounts_dir, by the names of the files.
func (d *decoder) accountsDir(c *Config) {
	if !d.isSet("accounts_dir") {
		return
	}
	if !d.isSet("accounts") {
		d.keys["accounts"] = d.keys["accounts_dir"]
	}
	entries, err := os.ReadDir(c.AccountsDir)
	if err != nil {
		d.report("accounts_dir", "%v; put the accounts there or fix the path", err)
		return
	}
	any := false
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".yaml") && !strings.HasPrefix(name, ".") {
			d.accountsFile(filepath.Join(c.AccountsDir, name), c)
			any = true
		}
	}
	if !any {
		d.report("accounts_dir", "%s holds no *.yaml; put the accounts there, or take the key out", c.AccountsDir)
	}
}

// accountsFile adds the accounts of a file: the keys of one, or a list of them.
func (d *decoder) accountsFile(path string, c *Config) {
	text, err := readUpTo(path, maxFile)
	if err != nil {
		d.report("accounts_dir", "%v", err)
		return
	}
	of := decoder{origins: d.origins, file: path, folder: d.folder, environ: d.environ, defaults: d.defaults}
	root, _ := of.document(text)
	if root == nil || root.Tag == "!!null" {
		return
	}
	accounts := []*yaml.Node{root}
	if root.Kind == yaml.SequenceNode {
		accounts = root.Content
	}
	for _, n := range accounts {
		account := of.element(n, reflect.TypeFor[Account]())
		if of.full() {
			return
		}
		of.decode(n, account, Element("accounts", len(c.Accounts)))
		c.Accounts = append(c.Accounts, account.Interface().(Account))
	}
}
