package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// transferTransport returns the transport of transfers. It waits for responses without an end of its own: a large file
// may stay in the buffers of the system for a while. It does not decompress: a file is stored as it is.
var transferTransport = sync.OnceValue(func() *http.Transport {
	t := sharedTransport().Clone()
	t.ResponseHeaderTimeout, t.DisableCompression = 0, true
	return t
})

// PutFile sends the bytes of a file to the address that AttachmentUpload has returned. The body must have the announced
// size. The request has the headers of the upload and no credential of the client. It is not repeated.
//
// After a broken connection, the code unavailable, the caller may repeat the whole upload. The code state_conflict
// without RetryAfter means that the file was uploaded already: AttachmentConfirm tells whether it is the same. With
// RetryAfter another upload to the address is running. An error of the body is returned as it is, and the body is not
// read after the return. The deadline of the HTTP client does not apply: the upload ends when it makes no progress for
// two minutes.
func (c *Client) PutFile(ctx context.Context, u loci.Upload, body io.Reader) error {
	t := newTransfer(ctx, c.stall)
	defer t.end()
	sent := &uploadBody{body: body, transfer: t}
	defer sent.Close()
	size := u.Attachment.Size
	var source io.Reader = sent
	if size == 0 {
		source = http.NoBody // any other body of no bytes is sent in chunks
	}
	req, err := http.NewRequestWithContext(t.ctx, http.MethodPut, u.UploadURL, source)
	if err != nil || u.Method != http.MethodPut {
		return invalidAddressError()
	}
	req.ContentLength = size
	for name, value := range u.Headers {
		if !isUploadHeader(name) { // a bad server must not make other requests in the network of its client
			return loci.Errorf(loci.CodeInvalidQuery, "the server asks for a header that no upload has")
		}
		req.Header.Set(name, value)
	}
	res, err := c.sendBytes(t, req)
	if own := sent.error(); own != nil && ctx.Err() == nil {
		err = own
	}
	if err != nil {
		return err
	}
	_, _ = io.CopyN(io.Discard, res.Body, 1<<10) // so that the connection can be used again
	return res.Body.Close()
}

// isUploadHeader reports whether an upload may have a header.
func isUploadHeader(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return slices.Contains([]string{"Content-Type", "Content-Length", "If-None-Match"}, name) ||
		strings.HasPrefix(name, "X-Amz-")
}

// A File is a file as it arrives. Its reader returns the code unavailable after a broken connection.
type File struct {
	io.ReadCloser
	Offset int64  // of the first byte; 0 if the whole file is sent in place of the rest
	Size   int64  // of the whole file; -1 if the server does not tell
	Name   string // of the file, a text and never a path; "" if the server does not tell
	ETag   string // of a file on a Loci server, its SHA-256 in quotation marks
}

// GetFile opens a file at the address that AttachmentDownload has returned, from the byte at offset on. If etag is not
// "", the rest is sent only while the file has this entity tag; otherwise the whole file is. The request has no
// credential of the client, and is not repeated. The caller closes the file. The deadline of the HTTP client does not
// apply: a reader fails when no byte arrives for two minutes.
func (c *Client) GetFile(ctx context.Context, address string, offset int64, etag string) (*File, error) {
	t := newTransfer(ctx, c.stall)
	f, err := c.openFile(t, address, offset, etag)
	if err != nil {
		t.end()
		return nil, err
	}
	return f, nil
}

func (c *Client) openFile(t *transfer, address string, offset int64, etag string) (*File, error) {
	req, err := http.NewRequestWithContext(t.ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, invalidAddressError()
	}
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
		if etag != "" {
			req.Header.Set("If-Range", etag)
		}
	}
	res, err := c.sendBytes(t, req)
	if err != nil {
		return nil, err
	}
	f := &File{ReadCloser: &fileBody{res.Body, t, serverOf(req.URL)}, Size: res.ContentLength,
		ETag: res.Header.Get("ETag")}
	if res.StatusCode == http.StatusPartialContent {
		var first, last int64
		if n, _ := fmt.Sscanf(res.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &f.Size); n != 3 ||
			first != offset || last != f.Size-1 {
			res.Body.Close()
			return nil, loci.Errorf(loci.CodeUnavailable, "%s has sent another part of the file than was asked for.",
				serverOf(req.URL))
		}
		f.Offset = first
	}
	if _, p, err := mime.ParseMediaType(res.Header.Get("Content-Disposition")); err == nil {
		f.Name = p["filename"] // decoded from filename*, if there is one
	}
	return f, nil
}

// sendBytes sends a request to a signed address. A response other than 2xx is an error.
func (c *Client) sendBytes(t *transfer, req *http.Request) (*http.Response, error) {
	server := serverOf(req.URL)
	req.Header["User-Agent"] = []string{""} // none
	res, err := c.withoutCredentials().Do(req)
	if err != nil {
		return nil, t.error(server, err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, MaxResponse))
	if err != nil {
		return nil, t.error(server, err)
	}
	refusal, fromLoci := decodeError(res, server, text)
	if !fromLoci {
		refineStoreError(refusal, res.StatusCode, server)
	}
	return nil, refusal
}

// refineStoreError gives the refusal of a file store the code that a Loci server would return.
func refineStoreError(e *loci.Error, status int, server string) {
	switch status {
	case http.StatusPreconditionFailed: // it stores an object once
		e.Code, e.Message = loci.CodeStateConflict, "The file was uploaded already: confirm it."
	case http.StatusConflict:
		e.Code, e.Message = loci.CodeStateConflict, "Another upload to this address is running: wait for its end."
		e.RetryAfter = max(e.RetryAfter, time.Second)
	case http.StatusForbidden:
		e.Message = server + " refuses the address: it has expired, or does not belong to these bytes."
	case http.StatusInternalServerError:
		e.Code = loci.CodeUnavailable
	}
}

func invalidAddressError() error {
	return loci.Errorf(loci.CodeInvalidQuery, "the address of the file is invalid")
}

// serverOf returns the server of an address without the signed query.
func serverOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// errStalled is the cause of a transfer that made no progress.
var errStalled = errors.New("no byte was sent or received")

// A transfer moves the bytes of a request or response. It ends when it makes no progress.
type transfer struct {
	ctx    context.Context
	parent context.Context
	cancel context.CancelCauseFunc
	limit  time.Duration
	timer  *time.Timer
}

func newTransfer(parent context.Context, limit time.Duration) *transfer {
	ctx, cancel := context.WithCancelCause(parent)
	return &transfer{ctx, parent, cancel, limit, time.AfterFunc(limit, func() { cancel(errStalled) })}
}

// progress moves the time at which the transfer ends.
func (t *transfer) progress() { t.timer.Reset(t.limit) }

func (t *transfer) end() {
	t.timer.Stop()
	t.cancel(nil)
}

// error returns the error of a broken transfer.
func (t *transfer) error(server string, err error) error {
	if t.parent.Err() == nil && context.Cause(t.ctx) == errStalled {
		return &loci.Error{Code: loci.CodeUnavailable, Err: errStalled,
			Message: server + " makes no progress for " + strconv.Itoa(int(t.limit.Seconds())) + " seconds."}
	}
	if err = unreachableError(t.parent, server, err); loci.Is(err, loci.CodeUnavailable) {
		e := *loci.AsError(err)
		e.Message = "The bytes of the file cannot be sent to or received from " + server + "."
		return &e
	}
	return err
}

// An uploadBody reads the body of an upload, until it is closed. The HTTP client may read on after its error.
type uploadBody struct {
	transfer *transfer
	mu       sync.Mutex
	body     io.Reader
	err      error // of body
	closed   bool
}

// Read implements io.Reader.
func (b *uploadBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, net.ErrClosed
	}
	n, err := b.body.Read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	b.transfer.progress()
	return n, err
}

// Close ends the use of the body.
func (b *uploadBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// error returns the error of the body.
func (b *uploadBody) error() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// A fileBody reads the body of a download.
type fileBody struct {
	io.ReadCloser
	transfer *transfer
	server   string
}

// Read implements io.Reader.
func (b *fileBody) Read(p []byte) (int, error) {
	b.transfer.progress() // the caller may have paused
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = b.transfer.error(b.server, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *fileBody) Close() error {
	err := b.ReadCloser.Close()
	b.transfer.end()
	return err
}
