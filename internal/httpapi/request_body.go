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

// ReadBody returns a body of at most limit bytes, and refuses a larger one. Memory follows the bytes that arrive, not
// the length that the client announces. With an error it returns the bytes that did arrive.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		DrainBody(w, r)
		return nil, loci.NewError(loci.CodePayloadTooLarge)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return body, &loci.Error{Code: loci.CodeInvalidQuery, Message: "The body ended too early: send it again.",
			Err: err}
	}
	if int64(len(body)) > limit {
		DrainBody(w, r)
		return body, loci.NewError(loci.CodePayloadTooLarge)
	}
	return body, nil
}

// DrainBody reads on for a short time, so that a client that is still sending can read the refusal. A client with
// Expect: 100-continue is not sending.
func DrainBody(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" {
		return
	}
	SetBodyDeadline(w, r, time.Second)
	io.CopyN(io.Discard, r.Body, 4*MaxBody)
}

// CheckJSON refuses a body that is not declared as JSON in UTF-8, uncompressed.
func CheckJSON(h http.Header) error {
	types := h.Values("Content-Type")
	if isCompressed(h.Values("Content-Encoding")) {
		return loci.Errorf(loci.CodeUnsupportedMediaType,
			"The body is compressed: send it as it is, without Content-Encoding.")
	}
	if len(types) != 1 {
		return loci.NewError(loci.CodeUnsupportedMediaType)
	}
	media, params, err := mime.ParseMediaType(types[0])
	if err != nil || media != "application/json" {
		return loci.NewError(loci.CodeUnsupportedMediaType)
	}
	if charset, given := params["charset"]; given && !strings.EqualFold(charset, "utf-8") {
		return loci.Errorf(loci.CodeUnsupportedMediaType, "Send the body in UTF-8: JSON has no other charset.")
	}
	return nil
}

// TrimBOM removes a byte order mark before a JSON body (RFC 8259, section 8.1). Some editors and libraries write one.
func TrimBOM(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\ufeff")) }

// isCompressed reports codings that change the bytes.
func isCompressed(codings []string) bool {
	return slices.ContainsFunc(codings, func(c string) bool { return !strings.EqualFold(c, "identity") })
}
