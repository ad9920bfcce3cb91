package store

import (
	"errors"
	"fmt"
	"github.com/loci-memory/loci"
	"time"
)

// errStop ends a query of which no more rows are wanted.
var errStop = errors.New("store: enough rows")

func notFoundMessage(err error, text string) error {
	if errors.Is(err, errNoRows) {
		return loci.NewError(loci.CodeNotFound, "%s", text)
	}
	return err
}

var errNoRows = errors.New("store: no row")

// busyError is the answer to who comes while the database cannot take more.
func busyError(err error) error {
	return &loci.Error{Code: loci.CodeUnavailable, Message: loci.CodeUnavailable.Hint(), RetryAfter: time.Second,
		Err: err}
}

// conflictError is the answer to a change that would make a second row with a key that
// must be unique, which no rule of the service has found before.
func conflictError(err error) error {
	return &loci.Error{Code: loci.CodeConflict, Message: "Another request has made the same thing: read it again, or " +
		"choose another name.", Err: err}
}

// notFoundError tells that what a new row was to belong to was deleted meanwhile: whose account
// is purged is still believed for a moment.
func notFoundError(err error) error {
	return &loci.Error{Code: loci.CodeNotFound, Message: loci.CodeNotFound.Hint(), Err: err}
}

func wrapQueryError(q string, err error) error {
	if err == nil || errors.Is(err, errNoRows) {
		return err
	}
	return fmt.Errorf("store: %.80s: %w", q, err)
}

// mapNoRows turns the absence of a row into the answer that an id gets which
// names nothing within reach.
func mapNoRows(err error) error {
	if errors.Is(err, errNoRows) {
		return loci.NewError(loci.CodeNotFound)
	}
	return err
}
