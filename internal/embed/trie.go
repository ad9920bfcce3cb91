package embed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A trie finds pieces by their bytes. Nodes are numbered level by level from the root, 0, so the children of a node are
// adjacent, in the order of their bytes. The children of node n are first[n] up to first[n+1], and labels[n] is the
// byte that leads to n. It takes some 11 bytes a node, in three slices without pointers.
type trie struct {
	firstChild []int32
	labels     []byte
	ids        []int32 // of the piece that ends at the node, or none
}

// noPiece is the id of no piece.
const noPiece int32 = -1

// newTrie builds the trie of pieces, in which the index of a piece is its id. A repeated piece is an error.
func newTrie(pieces []string) (*trie, error) {
	type entry struct {
		piece string
		id    int32
	}
	order := make([]entry, len(pieces))
	for id, piece := range pieces {
		order[id] = entry{piece, int32(id)}
	}
	slices.SortFunc(order, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.piece, b.piece), cmp.Compare(a.id, b.id))
	})
	for i := 1; i < len(order); i++ {
		if a, b := order[i-1], order[i]; a.piece == b.piece {
			return nil, fmt.Errorf("vocabulary: pieces %d and %d are the same, %q", a.id, b.id, a.piece)
		}
	}
	t := &trie{labels: []byte{0}}
	// Each node of a level has a run of the order, whose pieces share their first depth bytes.
	for level, depth := [][]entry{order}, 0; len(level) > 0; depth++ {
		var below [][]entry
		for _, run := range level {
			t.firstChild = append(t.firstChild, int32(len(t.labels)))
			id := noPiece
			if len(run) > 0 && len(run[0].piece) == depth {
				id, run = run[0].id, run[1:]
			}
			t.ids = append(t.ids, id)
			for len(run) > 0 {
				label, n := run[0].piece[depth], 1
				for n < len(run) && run[n].piece[depth] == label {
					n++
				}
				t.labels = append(t.labels, label)
				below, run = append(below, run[:n]), run[n:]
			}
		}
		level = below
	}
	t.firstChild = append(t.firstChild, int32(len(t.labels)))
	return t, nil
}

// child returns the node that b leads to, or 0.
func (t *trie) child(node int32, b byte) int32 {
	for n, end := t.firstChild[node], t.firstChild[node+1]; n < end; n++ {
		if label := t.labels[n]; label >= b {
			if label == b {
				return n
			}
			return 0
		}
	}
	return 0
}

// childTable writes the children of a node into a table by their bytes.
func (t *trie) childTable(node int32, to *[256]int32) {
	for n := t.firstChild[node]; n < t.firstChild[node+1]; n++ {
		to[t.labels[n]] = n
	}
}

// find returns the node of s, or 0.
func (t *trie) find(s string) (node int32) {
	for i := range len(s) {
		if node = t.child(node, s[i]); node == 0 {
			return 0
		}
	}
	return node
}

// lookup returns the id of a piece, or none.
func (t *trie) lookup(piece string) int32 {
	if node := t.find(piece); node != 0 {
		return t.ids[node]
	}
	return noPiece
}

// longestMatch returns the longest piece that word begins with and its size in bytes, or size 0. node is the node of
// the first byte of word, or 0.
func (t *trie) longestMatch(node int32, word []byte) (id int32, size int) {
	id = noPiece
	for i := 1; node != 0; i++ {
		if t.ids[node] != noPiece {
			id, size = t.ids[node], i
		}
		if i == len(word) {
			break
		}
		node = t.child(node, word[i])
	}
	return id, size
}
