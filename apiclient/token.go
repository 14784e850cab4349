package apiclient

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

const redacted = "[redacted]"

// Secret is a text that prints, logs and encodes as "[redacted]".
type Secret string

// Reveal returns the text.
func (s Secret) Reveal() string { return string(s) }

// String returns "[redacted]".
func (Secret) String() string { return redacted }

// Format writes "[redacted]" for every verb: %x and %q would else show the text. Only %p never asks, which vet refuses.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText returns "[redacted]"; JSON and YAML values go through it. JSON takes map keys as they are: make no key of
// it.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// tokenSource gives the token to send with each request.
type tokenSource struct {
	file string // "" when the token is fixed

	mu    sync.Mutex
	token func() Secret // a closure, for fmt reads unexported fields through pointers, past every method of Secret
}

func newTokenSource(cfg Config) (*tokenSource, error) {
	if (cfg.Token == "") == (cfg.TokenFile == "") {
		return nil, errors.New("give either a token or a token file")
	}
	s := &tokenSource{file: cfg.TokenFile, token: hold(cfg.Token)}
	if s.file == "" {
		return s, checkToken(cfg.Token.Reveal())
	}
	return s, s.read()
}

// current returns the token, as its file has it now. While the file is missing or unusable, as in the middle of a
// rotation, the last good token stays.
func (s *tokenSource) current() Secret {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != "" {
		_ = s.read()
	}
	return s.token()
}

// maxTokenFile is how many bytes a file with a token may have.
const maxTokenFile = 64 << 10

func (s *tokenSource) read() error {
	info, err := os.Stat(s.file)
	if err != nil {
		return fmt.Errorf("read token file: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxTokenFile { // opening a pipe hangs
		return fmt.Errorf("read token file %s: it is no file of %d bytes at most", s.file, maxTokenFile)
	}
	data, err := os.ReadFile(s.file)
	if err != nil {
		return fmt.Errorf("read token file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if err := checkToken(token); err != nil {
		return fmt.Errorf("read token file %s: %w", s.file, err)
	}
	s.token = hold(Secret(token))
	return nil
}

func hold(token Secret) func() Secret { return func() Secret { return token } }

// checkToken refuses what can't stand in a header.
func checkToken(token string) error {
	if token == "" {
		return errors.New("token is empty")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("token holds a space, a line break or a character outside ASCII")
	}
	return nil
}
