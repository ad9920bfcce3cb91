package indexdb

import (
	"errors"
	"sync/atomic"

	"github.com/loci-memory/loci/internal/index"
)

// corruptReads counts the transactions that read a damaged keyword index.
var corruptReads atomic.Int64

// CorruptReads returns how many searches and jobs of this process failed on a damaged keyword index. A repair rebuilds
// it.
func CorruptReads() int64 { return corruptReads.Load() }

// CountCorruption counts the error of a transaction if that read a damaged index.
func CountCorruption(err error) {
	if errors.Is(err, index.ErrCorrupt) {
		CountCorruptRead()
	}
}

// CountCorruptRead counts a failed read that a damaged index may have caused.
func CountCorruptRead() { corruptReads.Add(1) }
