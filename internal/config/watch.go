package config

import (
	"os"
	"path/filepath"
)

// Folders are those in which a configuration's files stand, as far as Kubernetes mounted them from a ConfigMap or a Secret: the file's own, accounts_dir, and those of
// secrets. Tokens of accounts and sources aren't among them: they are read again by themselves.
type Folders struct {
	versions map[string]string // where the link that Kubernetes replaces pointed when the folder was first read
}

// read reads a file and notes its folder.
func (f *Folders) read(path string, most int64) (string, error) {
	f.note(filepath.Dir(path))
	return readUpTo(path, most)
}

// note notes a folder before it is read: what changes while it is read counts as changed.
func (f *Folders) note(folder string) {
	if _, noted := f.versions[folder]; !noted {
		f.versions[folder] = version(folder)
	}
}

// Changed reports whether any of them was replaced since. Kubernetes replaces all files of a folder at once.
func (f *Folders) Changed() bool {
	for folder, before := range f.versions {
		if now := version(folder); now != "" && now != before {
			return true
		}
	}
	return false
}

// version is where a mounted folder's files are, "" if it isn't mounted.
func version(folder string) string {
	target, err := os.Readlink(filepath.Join(folder, "..data"))
	if err != nil {
		return ""
	}
	return target
}
