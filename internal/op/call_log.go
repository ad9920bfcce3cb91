package op

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
)

// codeClientGone replaces the code of a call whose client disconnected.
const codeClientGone loci.Code = "left"

// SlowCall is the duration from which on a call is logged separately.
const SlowCall = time.Second

// A callRecord is a finished call.
type callRecord struct {
	op    *Op
	call  *Call
	actor *identity.Actor // nil where the caller was not admitted
	in    any             // *In, nil where the input was rejected
	out   any
	err   error
	start time.Time

	status int       // of the answer, or 0 for that of the error
	code   loci.Code // in the words of the transport, or "" for that of the error
}

// An Outcome is the end of a call that is no operation, such as one of OAuth.
type Outcome struct {
	Name   string // like that of an operation
	Method string
	Call   *Call
	Status int
	Code   loci.Code // in the words of the transport, or "" for that of Err
	Err    error     // a failure or refusal of this server, or nil
	Start  time.Time
}

// LogOutcome logs and counts the call like that of an operation.
func (h *Host) LogOutcome(ctx context.Context, o Outcome) {
	h.logCall(ctx, callRecord{op: &Op{Name: o.Name, Method: o.Method}, call: o.Call,
		actor: &identity.Actor{UserID: o.Call.UserID, CredentialID: o.Call.CredentialID}, err: o.Err, start: o.Start,
		status: o.Status, code: o.Code})
}

// logCall logs the one line of the call: operation, actor and result, by ids only, never contents. A client that
// disconnects is no server error. During an outage of the database each call fails for the same reason. Its line is
// like any other, and the reason is logged in a line of its own, which the log may omit when it repeats.
func (h *Host) logCall(ctx context.Context, e callRecord) {
	elapsed := time.Since(e.start)
	var code loci.Code
	level := slog.LevelInfo
	if e.err != nil {
		switch code = loci.AsError(e.err).Code; {
		case ctx.Err() != nil && errors.Is(e.err, context.Canceled):
			code = codeClientGone
		case code == loci.CodeUnavailable:
		case code.Status() >= 500:
			level = slog.LevelError
		}
	}
	unavailable := code == loci.CodeUnavailable
	if e.code != "" && code != codeClientGone {
		code = e.code
	}
	if h.Observe != nil {
		h.Observe(e.op, e.call, code, elapsed)
	}
	h.logLine(ctx, level, "call", e, code, elapsed)
	if unavailable {
		h.Log.LogAttrs(ctx, slog.LevelWarn, "unavailable", slog.String("op", e.op.Name),
			slog.String("request", e.call.RequestID), slog.Any("err", loci.AsError(e.err).Err))
	}
	if elapsed >= SlowCall && !e.op.Streams && code != codeClientGone {
		h.logLine(ctx, slog.LevelWarn, "slow", e, code, elapsed)
	}
}

func (h *Host) logLine(ctx context.Context, level slog.Level, message string, e callRecord, code loci.Code,
	elapsed time.Duration) {
	const maxAttrs = 11
	attrs := append(make([]slog.Attr, 0, maxAttrs), slog.String("op", e.op.Name),
		slog.String("transport", e.call.Transport), slog.String("method", e.op.Method),
		slog.String("request", e.call.RequestID))
	if e.actor != nil && e.actor.UserID != "" {
		attrs = append(attrs, slog.String("user", string(e.actor.UserID)),
			slog.String("credential", string(e.actor.CredentialID)))
		if id := e.workspaceID(); id != "" {
			attrs = append(attrs, slog.String("workspace", id))
		}
	}
	attrs = append(attrs, slog.Int64("status", int64(e.statusOf(code))), slog.Int64("us", elapsed.Microseconds()),
		slog.String("code", string(code)))
	if level == slog.LevelError {
		attrs = append(attrs, slog.Any("err", loci.AsError(e.err).Err))
	}
	if lines := h.Log.Handler(); lines.Enabled(ctx, level) {
		r := slog.NewRecord(e.start.Add(elapsed), level, message, 0) // without the caller, which LogAttrs would look up
		r.AddAttrs(attrs...)
		_ = lines.Handle(ctx, r) // a log that cannot be written has nowhere to say so
	}
}

// statusOf returns the HTTP status of the answer, on other transports the one that REST would give.
func (e callRecord) statusOf(code loci.Code) int {
	switch {
	case code == codeClientGone:
		return 499 // what other servers log for a disconnected client (nginx)
	case e.status != 0:
		return e.status
	case code != "":
		return code.Status()
	}
	return e.op.Status(e.out)
}

// workspaceID returns the id of the workspace in the input or the output of the call, or "".
func (e callRecord) workspaceID() string {
	if id := idAt(reflect.ValueOf(e.in), e.op.inputWorkspaceField); id != "" {
		return id
	}
	return idAt(reflect.ValueOf(e.out), e.op.outputWorkspaceField)
}

func idAt(v reflect.Value, path []int) string {
	if v = reflect.Indirect(v); path == nil || !v.IsValid() {
		return ""
	}
	field, err := v.FieldByIndexErr(path)
	if err != nil || !loci.ID(field.String()).Valid() { // a client may send anything as an id
		return ""
	}
	return field.String()
}

// workspaceField returns the index of the field with the tag id:"workspace" in
// values of a type, or in a record in them, or nil.
func workspaceField(t reflect.Type) []int {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("id") == "workspace" {
			return f.Index
		}
		if path := workspaceField(f.Type); path != nil && !f.Anonymous {
			return append(slices.Clone(f.Index), path...)
		}
	}
	return nil
}
