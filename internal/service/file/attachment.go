package file

import (
	"context"
	"errors"
	"time"

	"github.com/gabriel-vasile/mimetype"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/filetoken"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
	"github.com/loci-memory/loci/internal/store/jobdb"
	"github.com/loci-memory/loci/internal/store/memorydb"
)

// Path begins the routes of files.
const Path = "/functions/v1/loci"

// ObjectsPath begins the addresses of uploads and downloads; the id of the attachment follows.
const ObjectsPath = Path + "/storage/objects/"

// Lifetimes of signed addresses.
const (
	uploadAddressLifetime   = time.Hour
	downloadAddressLifetime = 15 * time.Minute
)

// ExchangeFileToken returns a token for the routes of files. It ends with the credential of the actor.
func (s *Service) ExchangeFileToken(ctx context.Context, actor *identity.Actor, _ loci.Empty) (loci.FileToken, error) {
	if actor.CredentialKind == identity.CredentialToken {
		return loci.FileToken{}, loci.Errorf(loci.CodeInvalidKey,
			"An access token for some workspaces cannot be exchanged: use an API key, a signed-in browser, or a token "+
				"with the scope account.")
	}
	keys, err := s.keys.load(ctx, s)
	if err != nil {
		return loci.FileToken{}, err
	}
	return store.Read(ctx, s.Store, actor, func(*store.Tx) (out loci.FileToken, err error) {
		token, end, err := keys.tokens.Issue(filetoken.Holder{UserID: actor.UserID, CredentialID: actor.CredentialID,
			Kind: actor.CredentialKind}, s.Clock())
		return loci.FileToken{Token: token, ExpiresAt: loci.TimeOf(end)}, err
	})
}

// VerifyFileToken returns the holder of a token, or filetoken.ErrInvalid.
func (s *Service) VerifyFileToken(ctx context.Context, token string) (filetoken.Holder, error) {
	keys, err := s.keys.load(ctx, s)
	if err != nil {
		return filetoken.Holder{}, err
	}
	return keys.tokens.Verify(token, s.Clock())
}

// UploadAttachment announces a file of a memory, and returns the address of the upload.
func (s *Service) UploadAttachment(ctx context.Context, actor *identity.Actor,
	in loci.UploadAttachment) (loci.Upload, error) {
	if int64(in.Size) > s.MaxFile {
		return loci.Upload{}, loci.Errorf(loci.CodeInvalidQuery, "size must be at most %d bytes (%.1f MiB): this "+
			"server stores no larger files", s.MaxFile, float64(s.MaxFile)/(1<<20))
	}
	keys, err := s.keys.load(ctx, s)
	if err != nil {
		return loci.Upload{}, err
	}
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out loci.Upload, err error) {
		if err := s.requireBucket(); err != nil {
			return out, err
		}
		m, err := memorydb.Open(tx, in.MemoryID, store.ToChange)
		if err != nil {
			return out, err
		}
		if out.Attachment, err = attachmentdb.Announce(m, loci.Attachment{FileName: string(in.FileName),
			Size: int64(in.Size), MIMEType: string(in.MIMEType), SHA256: string(in.SHA256)}); err != nil {
			return out, err
		}
		return s.signUpload(ctx, keys, out.Attachment)
	})
}

// signUpload returns how to upload the bytes of an attachment.
func (s *Service) signUpload(ctx context.Context, keys keySet, a loci.Attachment) (out loci.Upload, err error) {
	address := blob.Address{Method: blob.MethodPut, ID: a.ID, Size: a.Size, Type: a.MIMEType,
		Expires: s.Clock().Add(uploadAddressLifetime).Truncate(time.Second)}
	out = loci.Upload{Attachment: a, Method: address.Method, ExpiresAt: loci.TimeOf(address.Expires),
		Headers: map[string]string{"Content-Type": a.MIMEType}}
	if direct := blob.Direct(s.Bucket); direct != nil {
		out.UploadURL, out.Headers, err = direct.SignPut(ctx, address, a.SHA256)
		delete(out.Headers, "Content-Length") // each client sets it by itself
		return out, bucketError(err)
	}
	out.UploadURL = s.sign(keys, address)
	return out, nil
}

// sign returns the signed address of an object on this server.
func (s *Service) sign(keys keySet, a blob.Address) string {
	return s.PublicURL + ObjectsPath + string(a.ID) + "?" + keys.addresses.Sign(a)
}

// ConfirmAttachment makes an uploaded file a part of its memory. One that differs from what was announced is deleted.
// It looks at the bucket before its transaction, and again if the upload was recorded meanwhile.
func (s *Service) ConfirmAttachment(ctx context.Context, actor *identity.Actor, in loci.GetAttachment) (
	out loci.OneAttachment, err error) {
	for range 3 {
		out, err = s.confirm(ctx, actor, in, s.findObject(ctx, actor, in.AttachmentID))
		if !errors.Is(err, errUploadRecorded) {
			return out, err
		}
	}
	return out, loci.Errorf(loci.CodeStateConflict, "The file is being uploaded: confirm it after that.")
}

var errUploadRecorded = errors.New("file: the upload of an attachment was recorded after the look at its object")

func (s *Service) confirm(ctx context.Context, actor *identity.Actor, in loci.GetAttachment, found foundObject) (
	loci.OneAttachment, error) {
	var refusal error
	out, err := store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out loci.OneAttachment, err error) {
		refusal = nil
		a, err := attachmentdb.Open(tx, in.AttachmentID)
		if err != nil {
			return out, err
		}
		announced := a.Record()
		if announced.Status == loci.AttachmentActive {
			return loci.OneAttachment{Attachment: announced}, nil
		}
		if err := a.RequireActive(); err != nil {
			return out, err
		}
		switch {
		case found.of == "" && found.err != nil:
			return out, found.err
		case found.of == "" || found.stored != a.StoredSHA256():
			return out, errUploadRecorded
		case found.err != nil:
			return out, found.err
		}
		if refusal = checkObject(announced, found.Attachment); refusal == nil {
			out.Attachment, err = a.Activate(found.Size, found.MIMEType, found.SHA256)
			if loci.Is(err, loci.CodeQuotaExceeded) {
				refusal, err = refuse("The plan of the workspace's owner has no room for the file any more"), nil
			}
		}
		if refusal != nil {
			return out, a.Refuse()
		}
		return out, err
	})
	if err == nil && refusal != nil {
		return loci.OneAttachment{}, refusal
	}
	return out, err
}

// refuse returns the error for an uploaded file that is deleted.
func refuse(reason string) error {
	return loci.Errorf(loci.CodeStateConflict, "%s: the file was deleted. Announce it again.", reason)
}

// checkObject returns a conflict for an object that differs from what was announced.
func checkObject(announced, found loci.Attachment) error {
	switch {
	case found.Size != announced.Size:
		return refuse("The file has another size than was announced")
	case announced.SHA256 != "" && found.SHA256 != announced.SHA256:
		return refuse("The file has another checksum than was announced")
	}
	return nil
}

// A foundObject is the size, type and checksum of the object of a pending attachment, or the error of the bucket.
type foundObject struct {
	loci.Attachment
	of     loci.ID // the attachment; "" if the actor may not confirm it
	stored string  // its StoredSHA256 before the look
	err    error
}

// findObject looks for the object of a pending attachment. It reads the object only if its upload did not record size,
// type and checksum.
func (s *Service) findObject(ctx context.Context, actor *identity.Actor, id loci.ID) (x foundObject) {
	plain := actor.WithoutIdempotency() // the confirmation itself looks for a stored response
	r, err := store.Write(ctx, s.Store, plain, func(tx *store.Tx) (r loci.Attachment, err error) {
		a, err := attachmentdb.Open(tx, id)
		if err == nil {
			r, x.stored, err = a.Record(), a.StoredSHA256(), a.RequireActive()
		}
		return r, err
	})
	if err != nil || r.Status == loci.AttachmentActive {
		return foundObject{err: err}
	}
	x.of = r.ID
	if x.err = s.requireBucket(); x.err != nil {
		return x
	}
	object, err := s.Bucket.Head(ctx, r.ID)
	if err == nil && object.Size == r.Size {
		if x.stored != "" {
			x.Attachment = loci.Attachment{Size: object.Size, MIMEType: r.MIMEType, SHA256: x.stored}
			return x
		}
		var d blob.Digest
		if d, err = blob.Read(ctx, s.Bucket, r.ID); err == nil {
			x.Attachment = loci.Attachment{Size: d.Size, MIMEType: recognize(d.Head), SHA256: d.SHA256}
			return x
		}
	}
	x.Size = object.Size
	if errors.Is(err, blob.ErrNotFound) {
		x.err = loci.NewError(loci.CodeUploadMissing)
	} else if err != nil {
		x.err = bucketError(err)
	}
	return x
}

// recognize returns the media type of a file by its first bytes.
func recognize(head []byte) string { return mimetype.Detect(head).String() }

// DownloadAttachment returns an address under which anybody can download an attachment for a quarter of an hour.
func (s *Service) DownloadAttachment(ctx context.Context, actor *identity.Actor,
	in loci.GetAttachment) (loci.Download, error) {
	keys, err := s.keys.load(ctx, s)
	if err != nil {
		return loci.Download{}, err
	}
	return store.Read(ctx, s.Store, actor, func(tx *store.Tx) (out loci.Download, err error) {
		a, err := attachmentdb.Active(tx, in.AttachmentID)
		if err == nil {
			err = s.requireBucket()
		}
		if err != nil {
			return out, err
		}
		tx.LinkResponse(a.ID)
		address := blob.Address{Method: blob.MethodGet, ID: a.ID,
			Expires: s.Clock().Add(downloadAddressLifetime).Truncate(time.Second)}
		out.ExpiresAt = loci.TimeOf(address.Expires)
		if direct := blob.Direct(s.Bucket); direct != nil {
			out.URL, err = direct.SignGet(ctx, address, blob.Disposition(a.FileName))
			return out, bucketError(err)
		}
		out.URL = s.sign(keys, address)
		return out, nil
	})
}

// DeleteAttachments deletes attachments, each for itself.
func (s *Service) DeleteAttachments(ctx context.Context, actor *identity.Actor, in loci.DeleteAttachments) (
	loci.BulkResults, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out loci.BulkResults, err error) {
		if err := attachmentdb.LockMemories(tx, in.AttachmentIDs); err != nil {
			return out, err
		}
		out.Results, err = store.Bulk(tx, in.AttachmentIDs, func(_ int, id loci.ID) error {
			a, err := attachmentdb.Open(tx, id)
			if err == nil {
				err = a.Delete()
			}
			return err
		})
		return out, err
	})
}

// deleteObject is the job that deletes the object of a deleted attachment. While the bucket is away the jobs of this
// kind pause.
func (s *Service) deleteObject(ctx context.Context, j jobdb.Job) error {
	id := loci.ID(j.Subject)
	_, err := store.SystemRead(ctx, s.Store, "look for an attachment before its object is deleted",
		func(t *store.SystemTx) (attachmentdb.Record, error) { return attachmentdb.Any(t, id) })
	switch {
	case err == nil: // the row was restored, or it was confirmed before its upload was recorded
		return nil
	case !loci.Is(err, loci.CodeNotFound):
		return err
	}
	err = s.Bucket.Delete(ctx, id)
	if err != nil && s.Bucket.Check(ctx) != nil {
		return &jobdb.PauseError{Pause: time.Minute, Reason: err}
	}
	return err
}
