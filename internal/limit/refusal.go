package limit

import (
	"time"

	"github.com/loci-memory/loci"
)

// A Refusal describes the error of a call beyond a limit. The transports derive its status and Retry-After.
type Refusal struct {
	Name       string // of the limit, for the log
	Code       loci.Code
	Message    string
	RetryAfter time.Duration // of a limit whose end is not known
}

// Error returns the error of a call that may succeed after a time.
func (r Refusal) Error(after time.Duration) error {
	return &loci.Error{Code: r.Code, Message: r.Message, RetryAfter: after, Err: Exceeded(r.Name)}
}

// Exceeded is the cause of the error of a call beyond a limit: the name of the limit.
type Exceeded string

func (e Exceeded) Error() string { return "the limit of " + string(e) + " is reached" }
