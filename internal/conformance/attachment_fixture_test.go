package conformance_test

import (
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/service/file"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/testenv"
)

// attachmentFixtures are the fixtures of attachments and their tokens.
var attachmentFixtures = map[string]fixture{
	service.FileExchange.Name: {needs: accountAccess, server: true, args: noArgs},
	service.AttachmentUpload.Name: {
		needs: creatorOrManager,
		args: func(s testScene) args {
			_, m := s.newMemory()
			return s.upload(m)
		},
		names: []string{"memoryId"},
		refusals: []refusal{
			{name: "an archived memory", code: loci.CodeStateConflict,
				args: func(s testScene) args { return s.upload(s.archived()) }},
			{name: "a file that is too large", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				_, m := s.newMemory()
				return mergeArgs(s.upload(m), args{"size": file.DefaultMaxFile + 1})
			}},
			{name: "a name with a control character", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				_, m := s.newMemory()
				return mergeArgs(s.upload(m), args{"fileName": "a\nb"})
			}},
			{name: "an ill-formed checksum", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				_, m := s.newMemory()
				return mergeArgs(s.upload(m), args{"sha256": "abc"})
			}},
		},
	},
	service.AttachmentConfirm.Name: {
		needs: creatorOrManager,
		args:  func(s testScene) args { return args{"attachmentId": s.stored().ID} },
		names: []string{"attachmentId"},
		refusals: []refusal{{name: "no object", code: loci.CodeUploadMissing, args: func(s testScene) args {
			return args{"attachmentId": s.announced().ID}
		}}},
	},
	service.AttachmentDownload.Name: {
		needs: member,
		args:  func(s testScene) args { return args{"attachmentId": s.attachment()} },
		names: []string{"attachmentId"},
		refusals: []refusal{{name: "a pending upload", code: loci.CodeNotFound, args: func(s testScene) args {
			return args{"attachmentId": s.announced().ID}
		}}},
	},
	service.AttachmentDelete.Name: {
		needs: accountAccess,
		args:  func(s testScene) args { return args{"attachmentIds": []any{s.attachment(), s.announced().ID}} },
		refusals: []refusal{{name: "no attachment", code: loci.CodeInvalidQuery,
			args: fixed(args{"attachmentIds": []any{}})}},
	},
}

// deleteUploads deletes the pending attachments, of which a user has few.
func (s testScene) deleteUploads() {
	s.t.Helper()
	testenv.Must(sqldb.System(s.t.Context(), s.Store.DB(), "test", func(t *sqldb.Tx) (int64, error) {
		return t.Exec(`DELETE FROM attachments WHERE NOT active`)
	}))(s.t)
}

// upload returns the arguments of an upload.
func (s testScene) upload(memory loci.ID) args {
	s.t.Helper()
	s.deleteUploads()
	return args{"memoryId": memory, "fileName": "chart.txt", "size": 5, "mimeType": "text/plain",
		"sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}
}

// announced returns a new pending attachment of a memory of ann.
func (s testScene) announced() loci.Attachment {
	s.t.Helper()
	_, m := s.newMemory()
	s.upload(m)
	return testenv.Must(s.Service.UploadAttachment(s.t.Context(), s.Ann.Actor(), loci.UploadAttachment{MemoryID: m,
		FileName: "chart.txt", Size: 5, MIMEType: "text/plain"}))(s.t).Attachment
}

// stored returns a new pending attachment whose bytes are uploaded.
func (s testScene) stored() loci.Attachment {
	s.t.Helper()
	a := s.announced()
	testenv.NoError(s.t, s.Service.StoreUpload(s.t.Context(), blob.Address{Method: blob.MethodPut, ID: a.ID,
		Size: a.Size, Type: a.MIMEType}, strings.NewReader("hello")))
	return a
}

// attachment returns a new active attachment.
func (s testScene) attachment() loci.ID {
	s.t.Helper()
	return testenv.Must(s.Service.ConfirmAttachment(s.t.Context(), s.Ann.Actor(),
		loci.GetAttachment{AttachmentID: s.stored().ID}))(s.t).Attachment.ID
}
