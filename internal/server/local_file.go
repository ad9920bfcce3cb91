package server

import (
	"context"
	"io"
	"net/url"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/service/file"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
)

// PutFile stores the bytes of an upload, as a server does with the body of a request to its address.
func (l *Local) PutFile(ctx context.Context, u loci.Upload, body io.Reader) error {
	a, err := l.verifyFileAddress(ctx, blob.MethodPut, u.UploadURL)
	if err != nil {
		return err
	}
	if err := l.service.StoreUpload(ctx, a, file.Body{Reader: body}); err != nil {
		return err
	}
	// No server sweeps this database. What fails here is deleted after another upload.
	_, _ = store.System(ctx, l.store, "delete expired uploads", func(t *store.SystemTx) (loci.Empty, error) {
		return loci.Empty{}, attachmentdb.DeleteExpiredUploads(t)
	})
	return nil
}

// OpenFile opens the attachment of a download. Its caller closes the reader.
func (l *Local) OpenFile(ctx context.Context, address string) (loci.Attachment, io.ReadSeekCloser, error) {
	a, err := l.verifyFileAddress(ctx, blob.MethodGet, address)
	if err != nil {
		return loci.Attachment{}, nil, err
	}
	return l.service.OpenDownload(ctx, a.ID)
}

// verifyFileAddress returns the signed address that a URL has.
func (l *Local) verifyFileAddress(ctx context.Context, method, address string) (blob.Address, error) {
	u, err := url.Parse(address)
	if err != nil {
		return blob.Address{}, loci.Errorf(loci.CodeForbidden, "The address of the file is invalid.")
	}
	id, _ := strings.CutPrefix(u.Scheme+"://"+u.Host+u.Path, localURL+file.ObjectsPath)
	return l.service.VerifyFileAddress(ctx, method, loci.ID(id), u.RawQuery)
}
