// Package blob keeps the bytes of attachments as objects, in a folder or in a bucket of S3, and signs the addresses
// under which they are uploaded and downloaded. An object has the id of its attachment, is written once, and is never
// changed.
package blob
