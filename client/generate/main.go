// Command generate prints the methods of the Go client from the operation table. In the folder client, go generate runs
// go run ./generate FILE.
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
