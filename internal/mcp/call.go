package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// replyKey is the context's key for the reply to a request over HTTP.
type replyKey struct{}

// callOf returns the call of a tool by the SDK.
func callOf(ctx context.Context, t *tool) *op.Call {
	if w, ok := ctx.Value(replyKey{}).(*reply); ok {
		w.writes.Store(!t.op.Reads)
		return w.call
	}
	return &op.Call{Door: "mcp", RequestID: loci.NewID(time.Now())}
}

// handler runs the tool for the SDK.
func (d *Door) handler(t *tool) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		object, failed := d.answer(ctx, t, callOf(ctx, t), req.Params.Arguments)
		return &sdk.CallToolResult{
			Content: []sdk.Content{&sdk.TextContent{Text: string(object)}},
			IsError: failed,
		}, nil
	}
}

// answer runs the tool and returns the one JSON object of its result. It is
// shown once, as text: no revision asks a tool without an output schema for
// structured content, and a client that gives the model both doubles its cost.
// A refusal of the operation is a result, which the agent reads.
func (d *Door) answer(ctx context.Context, t *tool, c *op.Call, args []byte) (object []byte, failed bool) {
	object, err := d.run(ctx, t, c, args)
	if err == nil {
		return object, false
	}
	return problem(err, c), true
}

// problem returns what of err is shown, as JSON.
func problem(err error, c *op.Call) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(op.NewProblem(err, c.RequestID)) // texts alone, into a buffer
	return bytes.TrimSpace(b.Bytes())
}

// run calls the operation and returns its answer, cut to what a result holds.
// A page with too many items is asked for again with as many as there is room
// for: its cursor then goes on after the last that is shown.
func (d *Door) run(ctx context.Context, t *tool, c *op.Call, args []byte) ([]byte, error) {
	args, from, err := t.begin(args)
	if err != nil {
		return nil, err
	}
	raw, err := d.Caller.Call(ctx, t.op, c, op.Args{JSON: args})
	if err != nil {
		return nil, err
	}
	out, room := t.fit(raw, from)
	for range 6 {
		if out != nil || !t.smaller(&args, room) {
			break
		}
		c.Again = true
		if raw, err = d.Caller.Call(ctx, t.op, c, op.Args{JSON: args}); err != nil {
			return nil, err
		}
		out, room = t.fit(raw, from)
	}
	switch {
	case out != nil:
		return out, nil
	case !t.op.Reads: // nothing would show again what was written, such as the addresses of a hundred invitations
		return raw, nil
	}
	return []byte(`{"ok":true,"truncated":true}`), nil
}

// fit returns the answer raw as the tool shows it, or how many items of its
// list have room.
func (t *tool) fit(raw []byte, from int) (out []byte, room int) {
	return fit(t.brief.apply(raw), from, t.listed)
}

// smaller makes the arguments ask for less, where they can: for fewer tokens of
// a text, or for as many items of a page as there is room for.
func (t *tool) smaller(args *[]byte, room int) bool {
	if len(t.defaults) > 0 {
		f := t.defaults[0]
		given, rest := without(*args, f.Name)
		n, err := strconv.Atoi(string(given))
		if err != nil {
			n = f.ToolDefault
		}
		*args = with(rest, f.Name, max(1, min(n, f.ToolDefault)*3/4))
		return true
	}
	if !t.limit || room == 0 {
		return false
	}
	_, rest := without(*args, "limit")
	// A little room is left for the cursor, which a last page does not have.
	*args = with(rest, "limit", max(1, room-room/16-1))
	return true
}

// begin takes the offset out of the arguments, if the tool has one; from is
// negative where it has not.
func (t *tool) begin(args []byte) (rest []byte, from int, err error) {
	if string(args) == "null" {
		args = nil // some clients send it for none
	}
	for _, f := range t.defaults {
		if given, _ := without(args, f.Name); given == nil && isObject(args) {
			args = with(args, f.Name, f.ToolDefault)
		}
	}
	if !t.reads {
		return args, -1, nil
	}
	given, rest := without(args, offset)
	if given == nil {
		return args, 0, nil
	}
	from, err = strconv.Atoi(string(given))
	if err != nil || from < 0 {
		return nil, 0, loci.Fail(loci.InvalidQuery, "offset must be an integer of at least 0")
	}
	return rest, from, nil
}
