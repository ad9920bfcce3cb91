package httpapi

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// MaxBody is the most bytes that the body of a request has.
const MaxBody = 1 << 20

// initialBuffer is the most bytes that are set aside for a body before it arrives.
const initialBuffer = 16 << 10

// A Body holds the body of one request. After Reset it serves another one.
type Body struct {
	bytes.Buffer
	limited io.LimitedReader
}

// ReadLimited reads a body of at most so many bytes, and refuses a larger one. Memory follows the
// bytes that arrive, not the length that the client announces.
func (b *Body) ReadLimited(w http.ResponseWriter, r *http.Request, limit int64) error {
	if r.ContentLength > limit {
		drainBody(w, r)
		return loci.NewError(loci.CodePayloadTooLarge)
	}
	b.Grow(int(min(max(r.ContentLength, 0), initialBuffer)) + bytes.MinRead)
	b.limited = io.LimitedReader{R: r.Body, N: limit + 1}
	_, err := b.ReadFrom(&b.limited)
	b.limited.R = nil
	if err != nil {
		return &loci.Error{Code: loci.CodeInvalidQuery, Message: "The body ended too early: send it again.", Err: err}
	}
	if int64(b.Len()) > limit {
		drainBody(w, r)
		return loci.NewError(loci.CodePayloadTooLarge)
	}
	return nil
}

// drainBody reads on for a little while, so that a client that is still sending
// gets to read why it was refused. A client that asked first is not sending.
func drainBody(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" {
		return
	}
	SetBodyDeadline(w, r, time.Second)
	io.CopyN(io.Discard, r.Body, 4*MaxBody)
}

// IsJSON reports whether a body is declared as JSON in UTF-8, uncompressed.
func IsJSON(h http.Header) bool {
	types := h.Values("Content-Type")
	if len(types) != 1 || isCompressed(h.Values("Content-Encoding")) {
		return false
	}
	switch types[0] {
	case "application/json", "application/json; charset=utf-8":
		return true
	}
	media, params, err := mime.ParseMediaType(types[0])
	charset, given := params["charset"]
	return err == nil && media == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
}

// isCompressed reports codings that change the bytes.
func isCompressed(codings []string) bool {
	return slices.ContainsFunc(codings, func(c string) bool { return !strings.EqualFold(c, "identity") })
}
