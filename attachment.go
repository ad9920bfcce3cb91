package loci

import (
	"regexp"
	"strings"
	"time"
	"unicode"
)

// MaxAttachments is the most attachments of a memory, with those whose upload is not confirmed.
const MaxAttachments = 100

// MaxPendingUploads is the most uploads of a user that are not confirmed.
const MaxPendingUploads = 20

// UploadLifetime is how long an upload may stay unconfirmed.
const UploadLifetime = 24 * time.Hour

// An AttachmentStatus is the state of an attachment.
type AttachmentStatus string

// The states of an attachment. It is pending until its upload is confirmed.
const (
	AttachmentPending AttachmentStatus = "pending"
	AttachmentActive  AttachmentStatus = "active"
)

// Rule lists the states.
func (AttachmentStatus) Rule() Rule {
	return Rule{Enum: enumValues(AttachmentPending, AttachmentActive)}
}

// An Attachment is a file that belongs to a memory. Size, type and checksum of a pending one are those that its client
// announced.
type Attachment struct {
	ID        ID               `json:"id" jsonschema:"UUIDv7"`
	FileName  string           `json:"fileName"`
	Size      int64            `json:"size" jsonschema:"In bytes"`
	MIMEType  string           `json:"mimeType" jsonschema:"Recognized from the first bytes"`
	SHA256    string           `json:"sha256,omitzero" jsonschema:"Hexadecimal"`
	CreatedBy ID               `json:"createdBy" jsonschema:"The user who uploaded it"`
	CreatedAt Time             `json:"createdAt"`
	Status    AttachmentStatus `json:"status"`
}

// A FileName is the name of a file. It is a text, and never a path.
type FileName string

// Rule requires 1 to 255 bytes without control characters.
func (FileName) Rule() Rule {
	return Rule{MinLength: 1, MaxBytes: 255, Pattern: `^[^\x00-\x1f\x7f-\x9f]*$`,
		Characters: "characters that are no control characters", Description: "At most 255 bytes", NoSecret: true}
}

// Safe returns a name without the characters and words that a file system gives a meaning.
func (n FileName) Safe() string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(string(n), "_"))
	name = strings.Trim(name, ". ")
	if base, _, _ := strings.Cut(name, "."); name == "" || reservedFileName.MatchString(strings.TrimSpace(base)) {
		name = "_" + name
	}
	return name
}

// reservedFileName matches the names of devices on Windows.
var reservedFileName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)$`)

// A FileSize is the size of a file in bytes.
type FileSize int64

// MaxFileSize is the most bytes that a server can be set to accept in one file: S3 stores no more in one call.
const MaxFileSize = 5 << 30

// Rule requires a number from 0. A server may allow less than the maximum.
func (FileSize) Rule() Rule { return Rule{Max: MaxFileSize} }

// A MIMEType is the media type of a file.
type MIMEType string

// Rule requires a type and a subtype, with or without parameters.
func (MIMEType) Rule() Rule {
	return Rule{MinLength: 3, MaxLength: 255, Pattern: `^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+( *;[ -~]*[!-~])?$`,
		Characters: "a media type such as image/png"}
}

// A SHA256 is a checksum in hexadecimal digits.
type SHA256 string

// Rule requires 64 digits.
func (SHA256) Rule() Rule {
	return Rule{MinLength: 64, MaxLength: 64, Pattern: `^[0-9a-f]*$`, Characters: "hexadecimal digits in lower case"}
}

// FileToken is the output of file.exchange.
type FileToken struct {
	Token     string `json:"token" jsonschema:"A JWT"`
	ExpiresAt Time   `json:"expiresAt"`
}

// UploadAttachment is the input of attachment.upload.
type UploadAttachment struct {
	MemoryID ID       `json:"memoryId" id:"memory" jsonschema:"The memory that it belongs to"`
	FileName FileName `json:"fileName"`
	Size     FileSize `json:"size" jsonschema:"The exact number of bytes"`
	MIMEType MIMEType `json:"mimeType" jsonschema:"The Content-Type of the upload"`
	SHA256   SHA256   `json:"sha256,omitzero" jsonschema:"The upload must have this checksum"`
}

// An Upload is the output of attachment.upload: how to send the bytes.
type Upload struct {
	Attachment Attachment        `json:"attachment"`
	UploadURL  string            `json:"uploadUrl" jsonschema:"A signed address"`
	Method     string            `json:"method" jsonschema:"PUT"`
	Headers    map[string]string `json:"headers" jsonschema:"Send them with the bytes"`
	ExpiresAt  Time              `json:"expiresAt"`
}

// GetAttachment names an attachment.
type GetAttachment struct {
	AttachmentID ID `json:"attachmentId" id:"attachment" jsonschema:"An attachment of a memory"`
}

// OneAttachment is an output that holds an attachment.
type OneAttachment struct {
	Attachment Attachment `json:"attachment"`
}

// A Download is the output of attachment.download.
type Download struct {
	URL       string `json:"url" jsonschema:"A signed address: get it within 15 minutes"`
	ExpiresAt Time   `json:"expiresAt"`
}

// DeleteAttachments is the input of attachment.delete.
type DeleteAttachments struct {
	AttachmentIDs BulkIDs `json:"attachmentIds" id:"attachment"`
}
