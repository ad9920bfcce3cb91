package relevance

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// The files of a dataset.
const (
	documentsFileName = "docs.jsonl"
	queriesFileName   = "queries.jsonl"
)

// A Document is one text of a dataset.
type Document struct{ Group, ID, Title, Text string }

// A Query has relevance judgements: the ids of relevant documents of its group, each with a grade above 0.
type Query struct {
	Group, ID, Text string
	Relevant        map[string]float64
}

// A Dataset is a list of documents and a list of queries.
type Dataset struct {
	Name      string
	Documents []Document
	Queries   []Query
}

// documentKey identifies a document within a dataset.
type documentKey struct{ group, id string }

// ReadDataset reads the dataset of a folder and checks it. An error names the file, and the line if one line is wrong.
func ReadDataset(dir string) (Dataset, error) {
	s := Dataset{Name: filepath.Base(filepath.Clean(dir))}
	known := map[documentKey]bool{}
	err := eachLine(filepath.Join(dir, documentsFileName), func(d Document) error {
		s.Documents = append(s.Documents, d)
		return d.check(known)
	})
	if err != nil {
		return Dataset{}, err
	}
	seenIDs := map[documentKey]bool{}
	err = eachLine(filepath.Join(dir, queriesFileName), func(q Query) error {
		s.Queries = append(s.Queries, q)
		return q.check(known, seenIDs)
	})
	return s, err
}

func (d Document) check(known map[documentKey]bool) error {
	k := documentKey{d.Group, d.ID}
	switch {
	case d.ID == "":
		return errors.New(`a document needs an "id"`)
	case known[k]:
		return fmt.Errorf("the id %q is used twice%s: give each document its own", d.ID, inGroup(d.Group))
	case strings.TrimSpace(d.Text) == "":
		return fmt.Errorf(`the "text" of %q is empty`, d.ID)
	case len(d.Text) > loci.MaxContent:
		return fmt.Errorf("the text of %q has %d bytes: at most %d are allowed", d.ID, len(d.Text), loci.MaxContent)
	case utf8.RuneCountInString(d.Title) > loci.MaxTitle:
		return fmt.Errorf("the title of %q has more than %d characters: shorten it", d.ID, loci.MaxTitle)
	}
	known[k] = true
	return nil
}

func (q Query) check(known, seenIDs map[documentKey]bool) error {
	maximum := loci.Query("").Rule().MaxLength
	k := documentKey{q.Group, q.ID}
	switch {
	case q.ID != "" && seenIDs[k]:
		return fmt.Errorf("the query %q is used twice%s: give each query its own id", q.ID, inGroup(q.Group))
	case strings.TrimSpace(q.Text) == "":
		return errors.New(`a query needs a "text"`)
	case utf8.RuneCountInString(q.Text) > maximum:
		return fmt.Errorf("the query has more than %d characters: shorten it", maximum)
	case len(q.Relevant) == 0:
		return errors.New(
			`a query needs "relevant": the ids of the documents that answer it, each with a number above 0`)
	}
	for id, grade := range q.Relevant {
		if !known[documentKey{q.Group, id}] {
			return fmt.Errorf(`"relevant" names %q, and %s has no such document%s`, id, documentsFileName,
				inGroup(q.Group))
		}
		if grade <= 0 {
			return fmt.Errorf(`"relevant" gives %q the number %v: it must be above 0`, id, grade)
		}
	}
	seenIDs[k] = true
	return nil
}

func inGroup(group string) string {
	if group == "" {
		return ""
	}
	return fmt.Sprintf(" in the group %q", group)
}

// maxLineBytes is longer than any valid text in JSON.
const maxLineBytes = 6*loci.MaxContent + 64<<10

// eachLine calls f with each non-empty line of a file.
func eachLine[T any](path string, f func(T) error) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: a dataset is a folder with %s and %s", err, documentsFileName, queriesFileName)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLineBytes)
	number, found := 0, false
	for lines.Scan() {
		number++
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		found = true
		v, err := decode[T](lines.Bytes())
		if err == nil {
			err = f(v)
		}
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", path, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s, line %d: %w", path, number+1, err)
	}
	if !found {
		return fmt.Errorf("%s is empty", path)
	}
	return nil
}

func decode[T any](line []byte) (v T, err error) {
	if !utf8.Valid(line) {
		return v, errors.New("this is not UTF-8")
	}
	if err = json.Unmarshal(line, &v); err != nil {
		err = fmt.Errorf("this is not a JSON object of the expected form: %w", err)
	}
	return v, err
}

// DatasetFolders returns the dataset folders of a path in the order of their names. It is the path itself, or its
// direct subfolders that hold documents.
func DatasetFolders(path string) (dirs []string, err error) {
	isDataset := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, documentsFileName))
		return err == nil
	}
	if isDataset(path) {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if dir := filepath.Join(path, e.Name()); isDataset(dir) {
			dirs = append(dirs, dir)
		}
	}
	if err == nil && len(dirs) == 0 {
		err = fmt.Errorf("%s holds no dataset: a dataset is a folder with %s and %s", path, documentsFileName,
			queriesFileName)
	}
	return dirs, err
}
