package main

import (
	"fmt"
	"math"
)

// run embeds texts, given as ids of pieces, in float64. It calls visit with each dense layer, in order, and its inputs:
// one row for each piece of all texts. The inputs are weighted so that every text counts the same. A vector is the mean
// of its pieces, so a piece of a short text changes it more.
func (n *network) run(texts [][]int32, visit func(name string, d denseLayer, inputs matrix)) {
	var ends []int
	var weights []float64
	x := matrix{cols: width}
	for _, ids := range texts {
		for at, id := range ids {
			for i := range width {
				x.values = append(x.values, float64(n.wordEmbeddings[int(id)*width+i])+
					float64(n.positionEmbeddings[at*width+i]))
			}
			weights = append(weights, 1/math.Sqrt(float64(len(ids))))
		}
		ends = append(ends, len(weights))
	}
	n.norm.apply(x)
	for i := range n.layers {
		l := &n.layers[i]
		through := func(name string, d denseLayer, in matrix) matrix {
			visit(fmt.Sprint(i, ".", name), d, in.weighted(weights))
			return d.apply(in)
		}
		mixed := attention(through("qkv", l.qkv, x), ends)
		x.add(through("mixed", l.attentionOut, mixed))
		l.attentionOut.norm.apply(x)
		up := through("up", l.feedForwardIn, x)
		for i, v := range up.values {
			up.values[i] = v / 2 * (1 + math.Erf(v/math.Sqrt2))
		}
		x.add(through("down", l.feedForwardOut, up))
		l.feedForwardOut.norm.apply(x)
	}
}

func (d denseLayer) apply(x matrix) matrix {
	y := product(x, toFloat64(d.weights, d.in))
	for i := range y.values {
		y.values[i] += float64(d.bias[i%d.out])
	}
	return y
}

// apply normalizes each row.
func (n layerNorm) apply(x matrix) {
	for r := range x.rows() {
		row := x.row(r)
		mean, variance := 0.0, 0.0
		for _, v := range row {
			mean += v / width
		}
		for _, v := range row {
			variance += float64((v-mean)*(v-mean)) / width
		}
		root := math.Sqrt(variance + 1e-12)
		for i, v := range row {
			row[i] = float64((v-mean)/root*float64(n.gamma[i])) + float64(n.beta[i])
		}
	}
}

// attention returns the attention of all heads, within each text.
func attention(qkv matrix, ends []int) matrix {
	to := matrix{cols: width, values: make([]float64, qkv.rows()*width)}
	begin := 0
	for _, end := range ends {
		parallel(heads, func(head int) { attentionHead(to, qkv, begin, end, head*width/heads) })
		begin = end
	}
	return to
}

func attentionHead(to, qkv matrix, begin, end, at int) {
	const depth = width / heads
	weights := make([]float64, end-begin)
	for q := begin; q < end; q++ {
		query, sum := qkv.row(q)[at:at+depth], 0.0
		for k := range weights {
			key := qkv.row(begin + k)[width+at:][:depth]
			weights[k] = math.Exp(dot(query, key) / math.Sqrt(depth))
			sum += weights[k]
		}
		for k, w := range weights {
			for i, v := range qkv.row(begin + k)[2*width+at:][:depth] {
				to.row(q)[at+i] += float64(w / sum * v)
			}
		}
	}
}
