// Command loci is the memory service: its server, its commands and its door
// for agents in one binary.
package main

import (
	"os"

	"github.com/loci-memory/loci/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
