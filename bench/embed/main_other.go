//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "embed: only Linux is measured")
	os.Exit(1)
}
