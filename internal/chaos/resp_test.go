package chaos

import (
	"bufio"
	"bytes"
	"crypto/sha1" //nolint:gosec // Redis names scripts by it
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
)

// value is one value of Redis' protocol: its bytes as they came, and all the strings in it.
type value struct {
	raw   []byte
	words []string
}

// readValue reads one value of any type.
func readValue(r *bufio.Reader) (v value, err error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return v, err
	}
	v.raw = line
	n, _ := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	switch line[0] {
	case '$', '=', '!':
		if n < 0 {
			return v, nil
		}
		text := make([]byte, n+2)
		if _, err := io.ReadFull(r, text); err != nil {
			return v, err
		}
		v.raw, v.words = append(v.raw, text...), []string{string(text[:n])}
	case '%':
		n *= 2
		fallthrough
	case '*', '~', '>':
		for range n {
			inner, err := readValue(r)
			if err != nil {
				return v, err
			}
			v.raw, v.words = append(v.raw, inner.raw...), append(v.words, inner.words...)
		}
	}
	return v, nil
}

// unknownScript reports whether an answer says that the script must be sent whole: nothing was done.
func (v value) unknownScript() bool { return bytes.HasPrefix(v.raw, []byte("-NOSCRIPT")) }

// ownName is the part of a key that is another one in each play.
var ownName = regexp.MustCompile(`:(attempt|card|delivery|evidence):.*`)

// kind names what a command does: by its word and its keys, a script also by its digest. What only sets the connection
// up has none.
func (v value) kind() string {
	word, keys := strings.ToUpper(v.words[0]), v.words[1:]
	if strings.HasPrefix(word, "EVAL") {
		n, err := strconv.Atoi(v.words[2])
		if err != nil {
			return ""
		}
		digest := v.words[1]
		if word == "EVAL" {
			sum := sha1.Sum([]byte(digest)) //nolint:gosec // as above
			digest = hex.EncodeToString(sum[:])
		}
		word, keys = "script "+digest[:4], v.words[3:3+n]
	}
	name := word
	for _, key := range keys {
		if strings.HasPrefix(key, "{") && strings.Contains(key, "}:") && !strings.HasPrefix(key, `{"`) {
			name += " " + ownName.ReplaceAllString(key, ":$1:*")
		}
	}
	if name == word {
		return ""
	}
	return name
}

// askRedis sends one command without spaces in its words.
func askRedis(addr, command string) (v value, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return v, err
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		return v, err
	}
	return readValue(bufio.NewReader(conn))
}
