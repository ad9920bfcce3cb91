package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/rest"
)

// A fileBlock is repeated in every uploaded file.
var fileBlock = newFileBlock()

func newFileBlock() []byte {
	block := make([]byte, 1<<20)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(block) // it never fails
	return block
}

// fileCall calls an operation of files with a new token, and decodes the response.
func (p *process) fileCall(key, method, path string, in, out any) error {
	raw, err := p.send(newRequest("POST", rest.FilePrefixes[0]+"/auth/exchange", key, nil))
	if err != nil {
		return err
	}
	raw, err = p.send(newRequest(method, rest.FilePrefixes[0]+"/storage/"+path, textField(raw, "token"), in))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// pathOf returns the path and the query of a signed address.
func pathOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	return u.RequestURI(), nil
}

// announce announces a file of a memory. It returns its id and the path of its upload.
func (p *process) announce(key, memory string, size int) (id, path string, err error) {
	var out loci.Upload
	if err := p.fileCall(key, "POST", "upload-url", map[string]any{"memoryId": memory, "fileName": "drawing.bin",
		"size": size, "mimeType": "application/octet-stream"}, &out); err != nil {
		return "", "", err
	}
	path, err = pathOf(out.UploadURL)
	return string(out.Attachment.ID), path, err
}

// put sends a file of a size.
func (p *process) put(path string, size int) error {
	w, err := p.dial()
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := fmt.Fprintf(w, "PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"+
		"Content-Length: %d\r\n\r\n", path, size); err != nil {
		return err
	}
	for left := size; left > len(fileBlock); left -= len(fileBlock) {
		if _, err := w.Write(fileBlock); err != nil {
			return err
		}
	}
	_, err = w.do(request(fileBlock[:(size-1)%len(fileBlock)+1]))
	return err
}

// confirm makes an uploaded file a part of its memory.
func (p *process) confirm(key, id string) error {
	return p.fileCall(key, "POST", "confirm-upload", map[string]any{"attachmentId": id}, new(loci.OneAttachment))
}

// addFile adds a file to a memory, and returns its id.
func (p *process) addFile(key, memory string, size int) (string, error) {
	id, path, err := p.announce(key, memory, size)
	if err == nil {
		err = p.put(path, size)
	}
	if err == nil {
		err = p.confirm(key, id)
	}
	return id, err
}

// downloadPath returns the path of a download.
func (p *process) downloadPath(key, id string) (string, error) {
	var out loci.Download
	if err := p.fileCall(key, "GET", "download-url?attachmentId="+id, nil, &out); err != nil {
		return "", err
	}
	return pathOf(out.URL)
}

// fetch reads a file of a size, and drops it.
func (p *process) fetch(path string, size int) error {
	w, err := p.dial()
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.Write(newRequest("GET", path, "", nil)); err != nil {
		return err
	}
	res, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{res.Body}, make([]byte, 256<<10))
	if err == nil && (n != int64(size) || res.StatusCode != http.StatusOK) {
		err = fmt.Errorf("%s: %d bytes", res.Status, n)
	}
	return err
}
