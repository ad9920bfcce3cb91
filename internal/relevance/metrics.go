package relevance

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// CutoffDepth is the number of results that are graded.
const CutoffDepth = 10

// Metrics are the quality of the results of one query, each from 0 to 1.
type Metrics struct {
	Recall5, Recall10, MRR, NDCG10 float64
}

// Evaluate compares results, a list of ids, with the relevance judgements. The measures are those of trec_eval
// (recall_5, recall_10, recip_rank with -M 10, ndcg_cut_10; https://github.com/usnistgov/trec_eval):
//
//   - Recall at k: the share of the relevant documents among the first k.
//   - MRR: 1 over the rank of the first relevant document (Voorhees, TREC-8,
//     1999), 0 if it is not among the first CutoffDepth.
//   - nDCG at k: the sum of grade / log2(rank + 1) over the first k, divided by
//     that of the best possible order (Järvelin and Kekäläinen, ACM TOIS 20(4),
//     2002).
func Evaluate(relevant map[string]float64, answer []string) Metrics {
	return Metrics{recall(relevant, answer, 5), recall(relevant, answer, CutoffDepth), reciprocalRank(relevant, answer),
		ndcg(relevant, answer)}
}

func recall(relevant map[string]float64, answer []string, k int) float64 {
	found := 0
	for _, id := range answer[:min(k, len(answer))] {
		if relevant[id] > 0 {
			found++
		}
	}
	return float64(found) / float64(len(relevant))
}

func reciprocalRank(relevant map[string]float64, answer []string) float64 {
	for i, id := range answer[:min(CutoffDepth, len(answer))] {
		if relevant[id] > 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

func ndcg(relevant map[string]float64, answer []string) float64 {
	grades := make([]float64, len(answer))
	for i, id := range answer {
		grades[i] = relevant[id]
	}
	best := slices.SortedFunc(maps.Values(relevant), func(a, b float64) int { return cmp.Compare(b, a) })
	return discountedGain(grades) / discountedGain(best)
}

func discountedGain(grades []float64) (sum float64) {
	for i, g := range grades[:min(CutoffDepth, len(grades))] {
		sum += g / math.Log2(float64(i+2))
	}
	return sum
}

// An Estimate is the mean of a measure over the queries of a dataset, with its 95 % confidence interval.
type Estimate struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// BootstrapResamples is the number of bootstrap resamples.
const BootstrapResamples = 1000

// Bootstrap returns the mean and its percentile interval, from the 2.5th to the 97.5th percentile (Efron and
// Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). The percentiles are of the means of values drawn
// with replacement. The draws are the same for all lists of one length.
func Bootstrap(values []float64) Estimate {
	r := rand.New(rand.NewPCG(1, 2))
	means := make([]float64, BootstrapResamples)
	for i := range means {
		sum := 0.
		for range values {
			sum += values[r.IntN(len(values))]
		}
		means[i] = sum / float64(len(values))
	}
	slices.Sort(means)
	return Estimate{mean(values), quantile(means, .025), quantile(means, .975)}
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// quantile returns the q-quantile of a sorted list by the nearest rank.
func quantile(sorted []float64, q float64) float64 {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}
