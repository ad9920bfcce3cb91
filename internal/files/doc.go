// Package files is the transport of the bytes of attachments: uploads and downloads under signed addresses.
package files
