package loci_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

func TestMachineNamesPossibleMovesWhenItRefuses(t *testing.T) {
	t.Parallel()
	m := loci.MemoryStates
	for _, c := range []struct {
		from    loci.MemoryStatus
		move    string
		to      loci.MemoryStatus
		message string
	}{
		{loci.MemoryActive, "changed", loci.MemoryActive, ""},
		{loci.MemoryActive, "archived", loci.MemoryArchived, ""},
		{loci.MemorySuperseded, "restored", loci.MemoryActive, ""},
		{loci.MemoryArchived, "changed", loci.MemoryArchived,
			"The memory is archived: it cannot be changed. It can be restored."},
		{loci.MemoryActive, "restored", loci.MemoryActive,
			"The memory is active: it cannot be restored. It can be archived or superseded."},
		{loci.MemorySuperseded, "archived", loci.MemorySuperseded,
			"The memory is superseded: it cannot be archived. Change its replacement instead, or restore it."},
	} {
		to, err := m.Apply(c.from, c.move)
		message := ""
		if err != nil {
			message = loci.AsError(err).Message
		}
		if to != c.to || message != c.message || err != nil && !loci.Is(err, loci.CodeStateConflict) {
			t.Errorf("%s, %s: %s, %q", c.from, c.move, to, message)
		}
	}
	_, err := loci.ReceiptStates.Apply(loci.ReceiptClosed, "acknowledged")
	if want := "The message is closed: it cannot be acknowledged. Nothing is left to do."; loci.AsError(err).Message !=
		want {
		t.Errorf("%v, want %s", err, want)
	}
	for state, hint := range map[loci.InvitationStatus]string{loci.InvitationExpired: "A new one is needed.",
		loci.InvitationAccepted: "It needs no further answer."} {
		if _, err := loci.InvitationStates.Apply(state, "accepted"); !loci.Is(err, loci.CodeStateConflict) ||
			!strings.HasSuffix(loci.AsError(err).Message, hint) {
			t.Error(err)
		}
	}
}
