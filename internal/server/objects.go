package server

import (
	"context"
	"errors"
	"iter"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/store/integrity"
)

// checkedObjects are the objects of a bucket for a check.
type checkedObjects struct{ blob.Bucket }

// List implements integrity.Objects.
func (b checkedObjects) List(ctx context.Context) iter.Seq2[integrity.Object, error] {
	return func(yield func(integrity.Object, error) bool) {
		for o, err := range b.Bucket.List(ctx) {
			if !yield(integrity.Object(o), err) {
				return
			}
		}
	}
}

// Head implements integrity.Objects.
func (b checkedObjects) Head(ctx context.Context, id loci.ID) (integrity.Object, bool, error) {
	o, err := b.Bucket.Head(ctx, id)
	if errors.Is(err, blob.ErrNotFound) {
		return integrity.Object{}, false, nil
	}
	return integrity.Object(o), err == nil, err
}

// Shared implements integrity.Objects. The folder of files is in the data folder of one database.
func (b checkedObjects) Shared() bool {
	_, isFolder := b.Bucket.(*blob.Folder)
	return !isFolder
}
