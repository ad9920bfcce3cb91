package server

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/service"
)

// maxDeprecations is the size of a file of deprecations that is read.
const maxDeprecations = 1 << 20

// readDeprecations reads the announced removals from the file of LOCI_DEPRECATE.
func (s Settings) readDeprecations() (list []rest.Deprecation, err error) {
	if s.Deprecate == "" {
		return nil, nil
	}
	f, err := os.Open(s.Deprecate)
	if err != nil {
		return nil, fmt.Errorf("LOCI_DEPRECATE (--deprecate): %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDeprecations+1))
	if len(text) > maxDeprecations {
		err = errors.New("has more than 1 MiB")
	}
	if err == nil {
		table, _ := service.Ops.Variant(service.Variants[s.Contract])
		list, err = rest.ParseDeprecations(text, table)
	}
	if err != nil {
		err = fmt.Errorf("LOCI_DEPRECATE (--deprecate): %s: %w", s.Deprecate, err)
	}
	return list, err
}
