package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/loci-memory/loci"
)

// MaxBody is the most bytes that the body of a request has.
const MaxBody = 1 << 20

// firstRead is the most bytes that are set aside for a body before it arrives.
const firstRead = 16 << 10

// A Body holds the body of one request. After Reset it serves another one.
type Body struct {
	bytes.Buffer
	limit io.LimitedReader
}

// Receive reads a body of at most so many bytes, and refuses a larger one. Memory follows the
// bytes that arrive, not the length that the client announces.
func (b *Body) Receive(w http.ResponseWriter, r *http.Request, most int64) error {
	if r.ContentLength > most {
		drain(w, r)
		return loci.Fail(loci.PayloadTooLarge)
	}
	b.Grow(int(min(max(r.ContentLength, 0), firstRead)) + bytes.MinRead)
	b.limit = io.LimitedReader{R: r.Body, N: most + 1}
	_, err := b.ReadFrom(&b.limit)
	b.limit.R = nil
	if err != nil {
		return &loci.Error{Code: loci.InvalidQuery, Message: "The body ended too early: send it again.", Err: err}
	}
	if int64(b.Len()) > most {
		drain(w, r)
		return loci.Fail(loci.PayloadTooLarge)
	}
	return nil
}

// drain reads on for a little while, so that a client that is still sending
// gets to read why it was refused. A client that asked first is not sending.
func drain(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" {
		return
	}
	EndBody(w, r, time.Second)
	io.CopyN(io.Discard, r.Body, 4*MaxBody)
}
