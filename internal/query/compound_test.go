package query

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
)

func TestUnknownWordsStandForThoseThatBeginWithThem(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := buildSnapshot(t, d, "Das Datensicherungskonzept liegt bereit", "the kubernetes cluster and with this",
		"Fahrradversicherungen, Fahrrad",
		"call configMapGenerator from you", "Противопожарная защита", "if this returns true", "a house from here",
		"and more of this")
	for _, c := range []struct {
		query string
		want  []int64
	}{
		{"Datensicherung", []int64{1}},
		{"where is the datensicherung", []int64{1}},
		{"kuber", []int64{2}},
		{"Fahrrad", []int64{3}},
		{"Fahrradvers", []int64{3}},
		{"configMap", []int64{4}},
		{"configmap", []int64{4}},
		{"противопожар", []int64{5}},
		{"hous", []int64{7}},
		{"kube", nil},
		{"\"kuber\"", nil},
		{"sicherung", nil},
	} {
		if got, err := searchRewritten(v, d, c.query); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s finds %v, want %v, %v", c.query, got, c.want, err)
		}
	}
	q, err := rewriteQuery(v, index.NewCache(0), d.Fetch, Parse("kuber"))
	if err != nil || len(q.Corrections()) != 0 || len(q.expansionTerms) != 1 {
		t.Errorf("%+v, %v", q, err)
	}
}
