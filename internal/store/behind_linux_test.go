package store

import (
	"runtime"
	"testing"
)

func TestEmbeddingStandsBehindWhatAnswers(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	here, err := niceness()
	if err != nil {
		t.Fatal(err)
	}
	there := 0
	behind(func() { there, err = niceness() })
	if err != nil || there != min(19, here+yields) {
		t.Errorf("niceness %d behind %d: %v", there, here, err)
	}
	if after, err := niceness(); err != nil || after != here {
		t.Errorf("who waits had niceness %d, and has %d: %v", here, after, err)
	}
}
