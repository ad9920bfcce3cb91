package loci_test

import (
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/loci-memory/loci"
)

// Programs compare codes. Messages are for people, and may change.
func ExampleIs() {
	err := fmt.Errorf("reading: %w", loci.NewError(loci.CodeNotFound))
	fmt.Println(loci.Is(err, loci.CodeNotFound), loci.CodeNotFound.Status())
	// Output: true 404
}

// Times have milliseconds in JSON.
func ExampleTimeOf() {
	at := loci.TimeOf(time.Date(2026, 11, 28, 9, 30, 0, 0, time.UTC))
	text, err := json.Marshal(at)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
	// Output: "2026-11-28T09:30:00.000Z"
}

// A machine says which moves a state permits.
func ExampleMachine_Apply() {
	status, err := loci.MemoryStates.Apply(loci.MemoryActive, "archived")
	fmt.Println(status, err)
	_, err = loci.MemoryStates.Apply(status, "changed")
	fmt.Println(loci.Is(err, loci.CodeStateConflict))
	// Output:
	// archived <nil>
	// true
}
