package main

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"net"
	"net/http"
	"strings"
)

// stubModel is the model name of the stub. It changes whenever the same text gets another vector.
const stubModel = "stub-1"

// stubDimensions is the length of its vectors, as of the built-in model.
const stubDimensions = 384

// An embedderStub replaces an embedder whose cost is not measured. It implements the embeddings API of OpenAI. Servers
// use it as a proxy. So the generation of their vectors contains no port, and later runs can reuse a database.
type embedderStub struct {
	address string
	silent  bool // never responds, so that memories stay in the queue, and cost nothing
}

func newStub(silent bool) (*embedderStub, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &embedderStub{address: l.Addr().String(), silent: silent}
	go http.Serve(l, s)
	return s, nil
}

// env returns the environment that makes a server use the stub.
func (s *embedderStub) env() []string {
	return []string{"HTTP_PROXY=http://" + s.address, "http_proxy=", "NO_PROXY=", "no_proxy=",
		"LOCI_EMBED_URL=http://stub.test/v1", "LOCI_EMBED_MODEL=" + stubModel}
}

func (s *embedderStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.silent {
		<-r.Context().Done()
		return
	}
	var in struct{ Input []string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	type embedding struct {
		Embedding []float32 `json:"embedding"`
	}
	list := make([]embedding, len(in.Input))
	for i, text := range in.Input {
		list[i].Embedding = stubVector(text)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"data": list}) // a server that has ended misses it
}

// stubVector returns the sum of a random direction for each word of four letters and more. Texts with common words are
// near each other.
func stubVector(text string) []float32 {
	v := make([]float32, stubDimensions)
	v[0] = 1 // without such a word
	for _, w := range strings.Fields(strings.ToLower(text)) {
		if w = strings.Trim(w, ".,;:()?!\"'`"); len(w) < 4 {
			continue
		}
		h := fnv.New64a()
		h.Write([]byte(w))
		addDirection(v, h.Sum64())
	}
	sum := 0.
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

// addDirection adds the direction of a seed, by splitmix64 (Steele, Lea, Flood:
// "Fast splittable pseudorandom number generators", 2014).
func addDirection(v []float32, seed uint64) {
	for i := 0; i < len(v); i += 8 {
		seed += 0x9e3779b97f4a7c15
		z := (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		for j := range 8 {
			v[i+j] += float32(int8(z >> (8 * j)))
		}
	}
}
