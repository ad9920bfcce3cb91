package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// errDeclined ends a command that the person declined.
var errDeclined = errors.New("nothing was done")

// isInteractive reports whether a person can answer at a terminal.
func (p *program) isInteractive() bool {
	in, ok := p.in.(*os.File)
	return ok && term.IsTerminal(int(in.Fd()))
}

// describeRecord returns the title or name and the whole id of the record that the input of an operation names, for a
// confirmation. A missing record is an error.
func (p *program) describeRecord(ctx context.Context, caller op.Caller, o *op.Op, input []byte) (string, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(input, &given); err != nil {
		return "", err
	}
	for _, f := range o.Fields() {
		resource, isID := resourceOf(f)
		var id string
		if !isID || json.Unmarshal(given[f.Name], &id) != nil {
			continue
		}
		r, err := p.findRecord(ctx, caller, resource, f.Name, id)
		if err != nil {
			return "", err
		}
		if name := stripControl(r.Title+r.Name, false); name != "" {
			return fmt.Sprintf("%q (%s)", name, id), nil
		}
		return id, nil
	}
	return "", nil
}

// findRecord reads the record of an id with its get operation, or else from the list.
func (p *program) findRecord(ctx context.Context, caller op.Caller, resource, field, id string) (r record, err error) {
	if get := p.table.Op(resource + ".get"); get != nil {
		raw, err := caller.Call(ctx, get, &op.Call{Transport: "command", RequestID: p.requestID},
			op.Args{JSON: jsonObject(field, id)})
		var answer map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(raw, &answer)
		}
		if err != nil {
			return r, err
		}
		if inner, ok := answer[resource]; ok { // most answers nest the record
			raw = inner
		}
		return r, json.Unmarshal(raw, &r)
	}
	list := listOp(p.table, resource)
	if list == nil {
		return r, nil
	}
	for r, err := range listRecords(ctx, caller, list, unfiltered(list)) {
		if err != nil || r.ID == id {
			return r, err
		}
	}
	return r, loci.Errorf(loci.CodeNotFound, "No %s has the id %s.", resource, id)
}

// confirm asks at the terminal for confirmation of an irreversible operation.
func (p *program) confirm(ctx context.Context, what string) error {
	fmt.Fprintf(p.err, "%s? This cannot be undone. [y/N] ", what)
	answer := make(chan string, 1)
	go func() { // the read cannot be interrupted, and ends with the process
		line, _ := bufio.NewReader(p.in).ReadString('\n') // the end of input counts as no
		answer <- line
	}()
	select {
	case line := <-answer:
		if !isYes(line) {
			return errDeclined
		}
		return nil
	case <-ctx.Done():
		fmt.Fprintln(p.err)
		return ctx.Err()
	}
}

// isYes reports whether an answer is yes.
func isYes(line string) bool {
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}
