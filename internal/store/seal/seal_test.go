package seal

import (
	"bytes"
	"testing"
)

func TestSealKeepsTextThatLooksCompressed(t *testing.T) {
	t.Parallel()
	var key [32]byte
	for _, text := range [][]byte{nil, []byte("{}"), {0x01}, append([]byte{0x01}, make([]byte, 30)...),
		{0x1f, 0x8b}, append([]byte{0x1f, 0x8b}, make([]byte, 30)...),
		append([]byte{0x1f, 0x8b}, make([]byte, compressThreshold)...), make([]byte, compressThreshold)} {
		if got, err := Open(key, Seal(key, text)); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes from %.4x: %d bytes, %v", len(text), text, len(got), err)
		}
	}
}

func TestSealMakesAShortResponseSmall(t *testing.T) {
	t.Parallel()
	id := "019abf3c-8f1d-7c3a-9b1e-0f3b6f1a2c4d"
	text := []byte(`{"memory":{"id":"` + id + `","workspaceId":"` + id + `","atlasId":"` + id + `","title":"The pump",` +
		`"content":"The relay of the second pump fails after rain.","type":"note","tags":[],"status":"active",` +
		`"version":1,"createdBy":"` + id + `","createdAt":"2026-11-28T11:22:33.123456Z",` +
		`"updatedAt":"2026-11-28T11:22:33.123456Z"},"routing":{"atlasId":"` + id + `","matched":[]},"similar":[]}`)
	var key [32]byte
	sealed := Seal(key, text)
	if got, err := Open(key, sealed); err != nil || !bytes.Equal(got, text) {
		t.Errorf("got %s, %v", got, err)
	}
	if 2*len(sealed) > len(text) {
		t.Errorf("a response of %d bytes needs %d", len(text), len(sealed))
	}
	sealed[len(sealed)/2] ^= 1
	if _, err := Open(key, sealed); err == nil {
		t.Error("a damaged response is opened")
	}
}
