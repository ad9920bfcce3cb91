// Command loci is the memory service: server, commands and MCP server in one binary.
package main

import (
	"os"

	"github.com/loci-memory/loci/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
