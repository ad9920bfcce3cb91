package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// errDeclined ends a command to which the person said no.
var errDeclined = errors.New("nothing was done")

// confirmed asks whether what cannot be taken back is meant. Without a terminal
// nobody can be asked, and the command line has to say --yes.
func (p *program) confirmed(ctx context.Context, what string) error {
	in, ok := p.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return misuse(what + " cannot be taken back, and nobody can be asked here: add --yes")
	}
	fmt.Fprintf(p.err, "%s? This cannot be taken back. [y/N] ", what)
	answer := make(chan string, 1)
	go func() { // it cannot be interrupted, and ends with the process
		line, _ := bufio.NewReader(in).ReadString('\n') // an end without an answer is none
		answer <- line
	}()
	select {
	case line := <-answer:
		if !agrees(line) {
			return errDeclined
		}
		return nil
	case <-ctx.Done():
		fmt.Fprintln(p.err)
		return ctx.Err()
	}
}

// agrees reports whether an answer is yes.
func agrees(line string) bool {
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}
