package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/resolve"
	"github.com/loci-memory/loci/internal/strictjson"
)

// listTools answers with bytes that were made at the start.
func (d *Server) listTools(_ context.Context, x *exchange) ([]byte, *rpcError) {
	if err := x.rejectCursor(); err != nil {
		return nil, err
	}
	return d.lists[x.set][x.isStateless()], nil
}

// callNamedTool runs a tool. It returns the object once, as text. No revision requires structured content of a tool
// without an output schema, and a client that shows both to the model doubles its cost.
func (d *Server) callNamedTool(ctx context.Context, x *exchange) ([]byte, *rpcError) {
	if err := x.requireParams(); err != nil {
		return nil, err
	}
	name, err := x.param("name")
	if err != nil {
		return nil, err
	}
	t := d.tools[x.set][name]
	if t == nil {
		d.OnUnmatched.Count(httpapi.UnmatchedTool)
		return nil, invalidParams(fmt.Sprintf("unknown tool %q", strictjson.Shorten(name)))
	}
	x.mayHaveWritten = !t.op.ReadOnly
	object, failed := d.callTool(ctx, t, x.call, x.params["arguments"])
	r := result{"content": []textContent{newText(string(object))}}
	if failed {
		r["isError"] = true
	}
	return d.encodeResult(r, x.isStateless()), nil
}

// A textContent is a text in a result.
type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func newText(s string) textContent { return textContent{"text", s} }

// callTool runs the tool and returns the one JSON object of its result. An error of the operation is a result, which
// the agent reads.
func (d *Server) callTool(ctx context.Context, t *tool, c *op.Call, args []byte) (object []byte, failed bool) {
	object, err := d.runTool(ctx, t, c, args)
	if err == nil {
		return object, false
	}
	return encode(op.NewErrorBody(err, c.RequestID)), true
}

// maxRetries is how often a tool requests less. Each retry requests three quarters, or the items that fit.
const maxRetries = 6

// runTool calls the operation and returns its answer, cut to maxResult bytes. A page with too many items is requested
// again with as many as fit: its cursor then continues after the last that is shown. Only reads are repeated.
func (d *Server) runTool(ctx context.Context, t *tool, c *op.Call, args []byte) ([]byte, error) {
	t, args, err := t.choose(args)
	if err != nil {
		return nil, err
	}
	args, part, err := t.prepareArguments(args)
	if err == nil && isObject(args) {
		args, err = d.recordLists(c).Expand(ctx, t.op, args)
	}
	if err != nil {
		return nil, err
	}
	raw, err := d.Caller.Call(ctx, t.op, c, op.Args{JSON: args})
	if err != nil {
		return nil, d.recordLists(c).ExplainNotFound(t.op, args, err)
	}
	if t.readsText {
		return readPart(raw, part, t.shown)
	}
	names := d.nameFunc(ctx, c)
	out, maxItems := t.truncate(raw, names)
	for try := 0; out == nil && t.op.ReadOnly && try < maxRetries; try++ {
		smaller, ok := t.reduceArguments(args, maxItems)
		if !ok {
			break
		}
		isOne := t.isPaged && maxItems == 0
		args, c.Continuation = smaller, true
		if raw, err = d.Caller.Call(ctx, t.op, c, op.Args{JSON: args}); err != nil {
			return nil, err
		}
		if out, maxItems = t.truncate(raw, names); out == nil && isOne {
			out = truncateLists(raw, t.shown, false)
		}
	}
	switch {
	case out != nil:
		return out, nil
	case !t.op.ReadOnly: // nothing would show again what was written, such as the addresses of a hundred invitations
		return raw, nil
	}
	return []byte(`{"ok":true,"truncated":true}`), nil
}

// pagesOfCall is the number of pages of a look-up that count as one call.
const pagesOfCall = 10

// recordLists returns the reader of the lists in which records are looked up for the arguments of a call.
func (d *Server) recordLists(c *op.Call) resolve.Reader {
	charged := c.RateCharged // for the message: it covers the first look-up
	return resolve.Reader{Table: d.Table,
		Call: func(ctx context.Context, o *op.Op, input []byte, page int) ([]byte, error) {
			part := &op.Call{Transport: c.Transport, Credential: c.Credential, CredentialKind: c.CredentialKind,
				ActorHeader: c.ActorHeader, AgentIDSent: c.AgentIDSent, CrossOrigin: c.CrossOrigin, Address: c.Address,
				UserAgent: c.UserAgent, RequestID: c.RequestID, Continuation: page%pagesOfCall != 0,
				RateCharged: charged && page == 0}
			charged = false
			out, err := d.Caller.Call(ctx, o, part, op.Args{JSON: input})
			c.Quota = cmp.Or(part.Quota, c.Quota)
			return out, err
		}}
}

// nameFunc returns the names of records for the answer of a write. A name that cannot be read is left out.
func (d *Server) nameFunc(ctx context.Context, c *op.Call) nameFunc {
	return func(resource string, id []byte) []byte {
		get := d.Table.Op(resource + ".get")
		if get == nil {
			return nil
		}
		const page = 1 // it counts as a part of the call
		raw, err := d.recordLists(c).Call(ctx, get, []byte(`{"`+resource+`Id":`+string(id)+`}`), page)
		if err != nil {
			return nil
		}
		record, _ := removeMember(raw, resource)
		name, _ := removeMember(record, "name")
		return name
	}
}

// truncate returns the answer raw as the tool shows it, or the number of items of its list that fit.
func (t *tool) truncate(raw []byte, names nameFunc) (out []byte, maxItems int) {
	if !t.op.ReadOnly {
		raw = projection{t.shown, names}.apply(raw)
	} else if t.shown.TrimsLists {
		raw = projection{t.shown, nil}.apply(raw)
	}
	out, maxItems = truncateResult(raw, t.shown)
	if out == nil && t.cutsLists {
		out = truncateLists(raw, t.shown, !t.op.ReadOnly)
	}
	return out, maxItems
}

// reduceArguments returns arguments that request less, if there are any: fewer tokens of a text, or as many items of a
// page as fit, which is one where not even that fits.
func (t *tool) reduceArguments(args []byte, maxItems int) (smaller []byte, ok bool) {
	switch {
	case t.isPaged:
		_, rest := removeMember(args, "limit")
		// A little room is left for the cursor, which a last page does not have.
		return addNumber(rest, "limit", max(1, maxItems-maxItems/16-1)), true
	case len(t.defaults) == 0:
		return nil, false
	}
	f := t.defaults[0]
	given, rest := removeMember(args, f.Name)
	n, ok := integer(given)
	if !ok {
		n = f.ToolDefault
	}
	return addNumber(rest, f.Name, max(1, min(n, f.ToolDefault)*3/4)), true
}

// choose returns the tool that runs, t or its other one, and the arguments for it.
func (t *tool) choose(args []byte) (chosen *tool, rest []byte, err error) {
	if t.other == nil {
		return t, args, nil
	}
	if args, err = t.op.Lenient(args); err != nil { // what is absent for t is absent for the other
		return nil, nil, err
	}
	given, rest := removeMember(args, t.otherArgument)
	if given == nil {
		return t, args, nil
	}
	if again, _ := removeMember(rest, t.otherArgument); again != nil {
		return nil, nil, loci.Errorf(loci.CodeInvalidQuery, "%s is given twice", t.otherArgument)
	}
	s, quoted := text(given)
	if !quoted {
		s = string(given)
	}
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true":
		for _, f := range t.op.Fields() {
			if given, _ := removeMember(rest, f.Name); given != nil && t.other.InputSchema.Properties[f.Name] == nil {
				return nil, nil, loci.Errorf(loci.CodeInvalidQuery, "%s does not apply where %s is true: leave it out",
					f.Name, t.otherArgument)
			}
		}
		return t.other, rest, nil
	case "false", "null", "":
		return t, rest, nil
	}
	return nil, nil, loci.Errorf(loci.CodeInvalidQuery, "%s must be true or false", t.otherArgument)
}

// prepareArguments returns the arguments as the operation wants them, with defaults and without the part.
func (t *tool) prepareArguments(args []byte) (rest []byte, part int, err error) {
	if string(args) == "null" {
		args = nil // some clients send it for none
	}
	if args, err = t.op.Lenient(args); err != nil {
		return nil, 0, err
	}
	for _, f := range t.defaults {
		if given, _ := removeMember(args, f.Name); given == nil && (len(args) == 0 || isObject(args)) {
			args = addNumber(args, f.Name, f.ToolDefault)
		}
	}
	if t.readsText {
		return cutPart(args)
	}
	return args, 0, nil
}
