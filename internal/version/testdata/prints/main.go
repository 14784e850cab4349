// Command prints is linked by a test.
package main

import (
	"fmt"

	"github.com/wafbot/wafbot/internal/version"
)

func main() { fmt.Println(version.Get()) }
