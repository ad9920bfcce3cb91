// Floor is the baseline of Loci's measurements: handlers of net/http with the least work for a response. They have no
// operations, no access checks and no index.
//
//	floor empty  -size BYTES          reads the body and writes JSON of that size
//	floor get    -db FILE             one prepared read of a memory by its id
//	floor create -db FILE -blob BYTES the rows of a create, in commits that clients share
//	floor find   -db FILE             stock FTS5: porter, OR, the same filters, 20 rows
//	floor hold                        a stream without events
//	floor fanout -db FILE             a message to all streams
//	floor files  -dir FOLDER          files that are stored and sent
//	floor index  -db FILE             makes the FTS5 table that find needs, and ends
//
// FILE is a copy of a Loci database: same tables, same indexes, same rows.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("empty, get, create, find, hold, fanout, files or index is needed")
	}
	flags := flag.NewFlagSet("floor", flag.ContinueOnError)
	path := flags.String("db", "", "database")
	size := flags.Int("size", 0, "bytes of the answer of empty")
	blob := flags.Int("blob", 0, "bytes of a document in the log of changes")
	dir := flags.String("dir", "", "folder of files")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	var h http.Handler
	var err error
	switch args[0] {
	case "empty":
		h = newEmptyHandler(*size)
	case "get":
		h, err = newGetter(*path)
	case "create":
		h, err = newCreator(*path, *blob)
	case "find":
		h, err = newFinder(*path)
	case "hold":
		h = newHolder()
	case "fanout":
		h, err = newFanout(*path)
	case "files":
		h = newFileHandler(*dir)
	case "index":
		return buildIndex(*path)
	default:
		err = fmt.Errorf("there is no %q", args[0])
	}
	if err != nil {
		return err
	}
	return serve(h)
}

// serve prints its address as Loci does.
func serve(h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("floor listens on http://%s\n", l.Addr())
	return http.Serve(l, h)
}

// newEmptyHandler reads the request and always writes the same response.
func newEmptyHandler(size int) http.Handler {
	const frame = `{"ok":true,"text":""}`
	answer := frame[:len(frame)-2] + strings.Repeat("x", max(0, size-len(frame))) + `"}`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer)
	})
}
