package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// newFileHandler handles PUT /{name}, which stores the body as a file in a folder, and GET /{name}, which sends it.
func newFileHandler(dir string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /{name}", func(w http.ResponseWriter, r *http.Request) {
		sum, err := storeFile(filepath.Join(dir, r.PathValue("name")), r.Body)
		writeJSON(w, http.StatusOK, map[string]any{"sha256": sum}, err)
	})
	mux.HandleFunc("GET /{name}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join(dir, r.PathValue("name")))
	})
	return mux
}

// storeFile writes a body to a temporary file, flushes it, and renames it. It returns the checksum.
func storeFile(path string, body io.Reader) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "*")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), body)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}
