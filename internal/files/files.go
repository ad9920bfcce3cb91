package files

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/service/file"
)

// Options are the settings of the transport.
type Options struct {
	Service *file.Service
	Log     *slog.Logger
	// Prefixes begin the paths of the routes of files.
	Prefixes []string
	// MaxTransfers is the most uploads and downloads at once; 0 is no limit.
	MaxTransfers int
	// TrustedProxies name the network of a client.
	TrustedProxies httpapi.Proxies
}

type handler struct {
	Options
	limiter limiter
}

// Routes returns the routes of the bytes.
func Routes(o Options) (list []httpapi.Route) {
	h := handler{o, newLimiter(o.MaxTransfers)}
	for _, prefix := range o.Prefixes {
		path := prefix + strings.TrimPrefix(file.ObjectsPath, file.Path) + "{attachmentId}"
		list = append(list,
			httpapi.Route{Pattern: "PUT " + path, Handler: http.HandlerFunc(h.upload),
				Reason:   "Its body is the bytes of a file, and a signed address is its credential.",
				Describe: describeUpload(prefix)},
			httpapi.Route{Pattern: "GET " + path, Handler: http.HandlerFunc(h.download),
				Reason:   "Its response is the bytes of a file, and a signed address is its credential.",
				Describe: describeDownload(prefix)})
	}
	return list
}

// begin verifies the signed address of a request, and begins its transfer. The function stops it early.
func (h handler) begin(r *http.Request, method string, stop func()) (a blob.Address, t transfer, err error) {
	ctx := r.Context()
	if a, err = h.Service.VerifyFileAddress(ctx, method, loci.ID(r.PathValue("attachmentId")),
		r.URL.RawQuery); err != nil {
		return a, t, err
	}
	limit.Prove(ctx, limit.Key{}) // an address is of no user
	owner, err := h.Service.FileOwner(ctx, a.ID)
	if err == nil {
		t, err = h.limiter.begin(a.ID, owner, limit.Subnet(h.TrustedProxies.ClientIP(r)), stop)
	}
	return a, t, err
}

// logTransfer writes the line of the log of a transfer.
func (h handler) logTransfer(w http.ResponseWriter, r *http.Request, name string, start time.Time, err error) {
	code, level := "", slog.LevelInfo
	id := loci.ID(r.PathValue("attachmentId"))
	if !id.Valid() {
		id = ""
	}
	attrs := []any{"op", name, "request", w.Header().Get("X-Request-Id"), "attachment", id}
	if err != nil {
		e := loci.AsError(err)
		if code = string(e.Code); e.Code.Status() >= http.StatusInternalServerError {
			level, attrs = slog.LevelError, append(attrs, "err", e.Err)
		}
	}
	attrs = append(attrs, "code", code, "ms", time.Since(start).Milliseconds())
	h.Log.Log(context.WithoutCancel(r.Context()), level, "file", attrs...)
}

// upload stores the body of a request.
func (h handler) upload(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	a, t, err := h.begin(r, http.MethodPut, nil) // it never waits for its client: minRate ends a slow one
	if err == nil {
		defer t.end()
	}
	switch {
	case err != nil:
	case r.ContentLength >= 0 && r.ContentLength != a.Size:
		err = loci.Errorf(loci.CodeForbidden, "The body has another length than was announced: send %d bytes.", a.Size)
	case r.Header.Get("Content-Type") != a.Type || len(r.Header.Values("Content-Encoding")) > 0:
		err = loci.Errorf(loci.CodeForbidden, "The body has another type than was announced: send Content-Type: %s.",
			a.Type)
	default:
		httpapi.SetBodyRate(r, grace, minRate)
		err = h.Service.StoreUpload(r.Context(), a, file.Body{Reader: r.Body})
	}
	if err == nil {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok":true}` + "\n")) // a client that has left asks again
	} else {
		httpapi.DrainBody(w, r)
		httpapi.WriteError(w, r, nil, err)
	}
	h.logTransfer(w, r, "attachment.put", start, err)
}

// download sends the bytes of an attachment, or a range of them.
func (h handler) download(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	out := newPacedWriter(w, h.Service.Clock)
	a, t, err := h.begin(r, http.MethodGet, out.stop)
	var stored loci.Attachment
	var object blob.Reader
	if err == nil {
		defer t.end()
		stored, object, err = h.Service.OpenDownload(r.Context(), a.ID)
	}
	if err != nil {
		httpapi.WriteError(w, r, nil, err)
		h.logTransfer(w, r, "attachment.get", start, err)
		return
	}
	defer object.Close()
	// A read deadline ends the context of a request, and a download may last longer.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a writer of a test has no connection
	if strings.Contains(r.Header.Get("Range"), ",") {
		r.Header.Del("Range") // each of several ranges is a request to a bucket
	}
	head := w.Header()
	head.Set("Content-Type", stored.MIMEType)
	head.Set("Content-Disposition", blob.Disposition(stored.FileName))
	head.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Etag", `"`+stored.SHA256+`"`)
	out.waits = t.wait
	out.check = func() error {
		_, err := h.Service.CheckDownload(r.Context(), a.ID)
		if !loci.Is(err, loci.CodeNotFound) {
			err = nil // the next check tells
		}
		return err
	}
	content := &checkedContent{ReadSeeker: blob.ForServing(object)}
	if f, ok := content.ReadSeeker.(*os.File); ok { // which the system sends
		http.ServeContent(out, r, "", time.Time{}, f)
	} else {
		http.ServeContent(out, r, "", time.Time{}, content)
	}
	err = cmp.Or(out.end(), content.err)
	h.logTransfer(w, r, "attachment.get", start, err)
	if err != nil {
		panic(http.ErrAbortHandler) // the client must not take a part for the whole
	}
}

// A checkedContent keeps the first error of an object that is read.
type checkedContent struct {
	io.ReadSeeker
	err error
}

// Read implements io.Reader.
func (c *checkedContent) Read(p []byte) (int, error) {
	n, err := c.ReadSeeker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && c.err == nil {
		c.err = &loci.Error{Code: loci.CodeUnavailable, Message: loci.CodeUnavailable.Hint(), Err: err}
	}
	return n, err
}
