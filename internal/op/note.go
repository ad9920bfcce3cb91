package op

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"time"

	"github.com/loci-memory/loci"
)

// left is noted in place of a code where the caller did not wait for the end.
const left loci.Code = "left"

// SlowCall is the duration from which on a call gets a line of its own in the log.
const SlowCall = time.Second

// An ended call is one that has its answer.
type ended struct {
	op    *Op
	call  *Call
	who   *loci.Actor // nil where the caller was not admitted
	in    any         // *In, nil where the input was refused
	out   any
	err   error
	began time.Time
}

// note writes the one line of the call: what was asked by whom and how it ended,
// by ids alone, never what was said. That the caller has left is no error of
// ours. While the database is away each call fails for the same reason: its line
// is like any other, and the reason has a line of its own, which the log may
// leave out when it repeats.
func (h *Host) note(ctx context.Context, e ended) {
	took := time.Since(e.began)
	var code loci.Code
	level := slog.LevelInfo
	if e.err != nil {
		switch code = loci.AsError(e.err).Code; {
		case ctx.Err() != nil && errors.Is(e.err, context.Canceled):
			code = left
		case code == loci.Unavailable:
		case code.Status() >= 500:
			level = slog.LevelError
		}
	}
	if h.Seen != nil {
		h.Seen(e.op, e.call, code, took)
	}
	if h.Log.Enabled(ctx, level) {
		h.write(ctx, level, "call", e, code, took)
	}
	if code == loci.Unavailable {
		h.Log.LogAttrs(ctx, slog.LevelWarn, "unavailable", slog.String("op", e.op.Name),
			slog.String("request", e.call.RequestID), slog.Any("err", loci.AsError(e.err).Err))
	}
	if took >= SlowCall && !e.op.Streams && code != left && h.Log.Enabled(ctx, slog.LevelWarn) {
		h.write(ctx, slog.LevelWarn, "slow", e, code, took)
	}
}

func (h *Host) write(ctx context.Context, level slog.Level, message string, e ended, code loci.Code,
	took time.Duration) {
	var list [11]slog.Attr
	attrs := append(list[:0], slog.String("op", e.op.Name), slog.String("door", e.call.Door),
		slog.String("method", e.op.Method), slog.String("request", e.call.RequestID))
	if e.who != nil && e.who.UserID != "" {
		attrs = append(attrs, slog.String("user", e.who.UserID), slog.String("credential", e.who.CredentialID))
		if id := e.workspace(); id != "" {
			attrs = append(attrs, slog.String("workspace", id))
		}
	}
	attrs = append(attrs, slog.Int64("status", int64(e.status(code))), slog.Int64("us", took.Microseconds()),
		slog.String("code", string(code)))
	if level == slog.LevelError {
		attrs = append(attrs, slog.Any("err", loci.AsError(e.err).Err))
	}
	// The line goes to the handler itself: a logger would look for the place in
	// the source, which is this one every time.
	line := slog.NewRecord(e.began.Add(took), level, message, 0)
	line.AddAttrs(attrs...)
	// An error of the log has nowhere else to go.
	_ = h.Log.Handler().Handle(ctx, line)
}

// Statuses of HTTP for the log; 499 is what other servers log for a caller that did not wait (nginx).
const (
	statusOK      = 200
	statusCreated = 201
	statusLeft    = 499
)

// status returns the HTTP status of the answer, on other transports the one that
// REST would give.
func (e ended) status(code loci.Code) int {
	switch code {
	case "":
	case left:
		return statusLeft
	default:
		return code.Status()
	}
	if made, ok := e.out.(Created); ok && made.Created() {
		return statusCreated
	}
	return statusOK
}

// workspace returns the id of the workspace that the call names, or that its
// answer lies in; empty where there is none.
func (e ended) workspace() string {
	if id := textAt(reflect.ValueOf(e.in), e.op.workspaceIn); id != "" {
		return id
	}
	return textAt(reflect.ValueOf(e.out), e.op.workspaceOut)
}

func textAt(v reflect.Value, path []int) string {
	if path == nil || !v.IsValid() {
		return ""
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return ""
	}
	field, err := v.FieldByIndexErr(path)
	if err != nil || !loci.ValidID(field.String()) { // a client may send anything as an id
		return ""
	}
	return field.String()
}

// workspacePath returns the place of a workspace's id in values of a type: in a
// field of the type, or of a record that it holds.
func workspacePath(t reflect.Type) []int {
	if t.Kind() != reflect.Struct {
		return nil
	}
	text := func(t reflect.Type, name string) []int {
		if f, ok := t.FieldByName(name); ok && f.Type.Kind() == reflect.String {
			return f.Index
		}
		return nil
	}
	if path := text(t, "WorkspaceID"); path != nil {
		return path
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type.Kind() != reflect.Struct || !f.IsExported() {
			continue
		}
		name := "WorkspaceID"
		if f.Type == reflect.TypeFor[loci.Workspace]() {
			name = "ID"
		}
		if path := text(f.Type, name); path != nil {
			return append([]int{i}, path...)
		}
	}
	return nil
}
