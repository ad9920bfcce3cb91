package op

import (
	"context"
	"encoding/json"

	"github.com/loci-memory/loci"
)

// A Caller runs an operation and returns its encoded output: in this process,
// or over the wire. Tools and commands use it.
type Caller interface {
	Call(ctx context.Context, o *Op, c *Call, a Args) ([]byte, error)
}

// Call runs an operation in this process.
func (h *Host) Call(ctx context.Context, o *Op, c *Call, a Args) ([]byte, error) {
	out, err := h.Run(ctx, o, c, func() (Args, error) { return a, nil })
	if err != nil {
		return nil, err
	}
	if o.Streams { // out is an event
		return Marshal(out)
	}
	return Encode(out)
}

// Do runs an operation with its types: the same Go call runs in this process or on a server, depending on the Caller.
func Do[In, Out any](ctx context.Context, caller Caller, c *Call, o TypedOp[In, Out], in In) (out Out, err error) {
	args, err := Marshal(in)
	if err != nil {
		return out, err
	}
	raw, err := caller.Call(ctx, o.Op, c, Args{JSON: args})
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(raw, &out)
}

// ErrorBody is the JSON object of an error in every transport.
type ErrorBody struct {
	Error     loci.Code `json:"error"`
	Code      loci.Code `json:"code"`
	Message   string    `json:"message" jsonschema:"A hint for people; programs decide by code"`
	RequestID string    `json:"requestId,omitzero"`
}

// NewErrorBody returns the public part of err.
func NewErrorBody(err error, requestID string) ErrorBody {
	e := loci.AsError(err)
	return ErrorBody{e.Code, e.Code, RetryMessage(e), requestID}
}
