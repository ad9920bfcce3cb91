// Command generate prints the methods of the Go client from the table of
// operations: go run ./generate FILE, by go generate in the folder client.
package main

import (
	"log"
	"os"

	"github.com/loci-memory/loci/internal/service"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: generate FILE")
	}
	source, err := methods(service.Ops)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[1], source, 0o644); err != nil {
		log.Fatal(err)
	}
}
