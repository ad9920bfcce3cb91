package relevance

import (
	"math"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

func almostEqual(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// The sums are computed by hand: log2(2) = 1, log2(3) = 1.5849625007, log2(4) = 2, log2(7) = 2.8073549221, log2(8) = 3.
func TestMetricsEqualTrecEval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		relevant map[string]float64
		answer   []string
		want     Metrics
	}{
		{"the best first", map[string]float64{"a": 1}, []string{"a", "x"}, Metrics{1, 1, 1, 1}},
		{"nothing found", map[string]float64{"a": 1}, nil, Metrics{}},
		{"only others found", map[string]float64{"a": 1}, []string{"x", "y"}, Metrics{}},
		{"third", map[string]float64{"a": 1}, []string{"x", "y", "a"}, Metrics{1, 1, 1. / 3, .5}},
		{"one within five, one behind", map[string]float64{"a": 1, "b": 1}, []string{"x", "a", "y", "z", "w", "b"},
			Metrics{.5, 1, .5, (1/1.5849625007211562 + 1/2.807354922057604) / (1 + 1/1.5849625007211562)}},
		{"grades in the wrong order", map[string]float64{"a": 3, "b": 1}, []string{"b", "x", "a"},
			Metrics{1, 1, 1, (1 + 3./2) / (3 + 1/1.5849625007211562)}},
		{"half of what there is", map[string]float64{"a": 1, "b": 1, "c": 1, "d": 1}, []string{"a", "b"},
			Metrics{.5, .5, 1, (1 + 1/1.5849625007211562) / (1 + 1/1.5849625007211562 + .5 + 1/2.321928094887362)}},
	} {
		got := Evaluate(c.relevant, c.answer)
		almostEqual(t, c.name+": R@5", got.Recall5, c.want.Recall5)
		almostEqual(t, c.name+": R@10", got.Recall10, c.want.Recall10)
		almostEqual(t, c.name+": MRR", got.MRR, c.want.MRR)
		almostEqual(t, c.name+": nDCG@10", got.NDCG10, c.want.NDCG10)
	}
}

func TestMetricsIgnoreResultsBeyondCutoff(t *testing.T) {
	t.Parallel()
	answer := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "a"}
	testenv.Equal(t, Evaluate(map[string]float64{"a": 1}, answer), (Metrics{}), "the eleventh counts")
	all := map[string]float64{}
	for _, id := range append(answer, "12") {
		all[id] = 1
	}
	got := Evaluate(all, answer)
	almostEqual(t, "R@10 of twelve", got.Recall10, 10./12)
	almostEqual(t, "nDCG@10 of twelve", got.NDCG10, 1)
}

func TestBootstrapIsDeterministic(t *testing.T) {
	t.Parallel()
	values := make([]float64, 400)
	for i := range values {
		values[i] = float64(i % 2)
	}
	e := Bootstrap(values)
	testenv.Equal(t, e, Bootstrap(values), "two runs differ")
	// The mean of 400 coins has a standard deviation of .025: 1.96 of them are .049.
	if e.Mean != .5 || math.Abs(e.Low-.451) > .01 || math.Abs(e.High-.549) > .01 {
		t.Errorf("the interval of 400 coins is %+v", e)
	}
	if one := Bootstrap([]float64{.3, .3, .3}); math.Abs(one.Low-.3) > 1e-12 || math.Abs(one.High-.3) > 1e-12 {
		t.Errorf("equal values have the interval %+v", one)
	}
}

func TestQuantileUsesNearestRank(t *testing.T) {
	t.Parallel()
	list := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for q, want := range map[float64]float64{0: 1, .05: 1, .5: 5, .51: 6, .95: 10, 1: 10} {
		testenv.Equal(t, quantile(list, q), want, "quantile", q)
	}
}
