package sqldb

import (
	"errors"
	"fmt"
	"github.com/loci-memory/loci"
	"time"
)

// ErrStop ends a query of which no more rows are wanted.
var ErrStop = errors.New("sqldb: enough rows")

func NotFoundMessage(err error, text string) error {
	if errors.Is(err, ErrNoRows) {
		return loci.Errorf(loci.CodeNotFound, "%s", text)
	}
	return err
}

var ErrNoRows = errors.New("sqldb: no row")

// BusyError is the answer to who comes while the database cannot take more.
func BusyError(err error) error {
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

func WrapQueryError(q string, err error) error {
	if err == nil || errors.Is(err, ErrNoRows) {
		return err
	}
	return fmt.Errorf("sqldb: %.80s: %w", q, err)
}

// MapNoRows turns the absence of a row into the answer that an id gets which
// names nothing within reach.
func MapNoRows(err error) error {
	if errors.Is(err, ErrNoRows) {
		return loci.NewError(loci.CodeNotFound)
	}
	return err
}
