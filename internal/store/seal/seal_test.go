package seal

import (
	"bytes"
	"testing"
)

func TestSealKeepsTextThatLooksCompressed(t *testing.T) {
	t.Parallel()
	var key [32]byte
	for _, text := range [][]byte{nil, []byte("{}"), {0x1f, 0x8b}, append([]byte{0x1f, 0x8b}, make([]byte, 30)...),
		append([]byte{0x1f, 0x8b}, make([]byte, compressThreshold)...), make([]byte, compressThreshold)} {
		if got, err := Open(key, Seal(key, text)); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes from %.4x: %d bytes, %v", len(text), text, len(got), err)
		}
	}
}
