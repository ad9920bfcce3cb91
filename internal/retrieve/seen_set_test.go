package retrieve

import "testing"

func TestSeenSetHoldsTagsThatDependOnTheSecret(t *testing.T) {
	t.Parallel()
	one, other := New(Options{Secret: []byte("one")}), New(Options{Secret: []byte("other")})
	var seen []byte
	for memory := range int64(100) {
		tag := one.seenTag(memory)
		if tag == other.seenTag(memory) {
			t.Errorf("memory %d has the same tag under another secret", memory)
		}
		seen = append(seen, tag[:]...)
	}
	tags := SeenSet(seen).tags()
	if n := SeenSet(seen).Len(); n != 100 || len(tags) != 100 {
		t.Errorf("a set of 100 memories has length %d and %d tags", n, len(tags))
	}
	if !tags[one.seenTag(7)] || tags[one.seenTag(100)] {
		t.Error("the set holds other memories than those that were shown")
	}
}
