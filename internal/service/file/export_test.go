package file

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

// Signer returns the index of the secret of files that signs.
func Signer(secrets []store.FileSecret, now loci.Time) int { return signerOf(secrets, now) }
