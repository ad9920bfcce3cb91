package kernel

const (
	width     = 384 // of a token in attention
	headCount = 12
	headWidth = width / headCount // of a head
)

// ScratchLen returns the number of values in the working memory of Attention.
func ScratchLen(tokens int) int {
	const scores, mask = 12, 1
	return padKeys(tokens) * (2*headWidth + scores + mask)
}

// padKeys rounds up to the sixteen keys that kernels process together.
func padKeys(tokens int) int { return (tokens + 15) &^ 15 }

// Attention writes softmax(Q K^T / sqrt(32)) V of each of the twelve heads to dst, which is [Padded(tokens)][384]. qkv
// is [Padded(tokens)][1152]: the 384 values of Q, those of K, and those of V, each in heads of 32. Scratch has at least
// [ScratchLen](tokens) values, and its contents do not matter.
func (v *Variant) Attention(dst, qkv []float32, tokens int, scratch []float32) {
	padded := Padded(tokens)
	v.attention(dst[:padded*width], qkv[:padded*3*width], tokens, scratch[:ScratchLen(tokens)])
}

// attendGo processes one query of a head at a time. It copies keys and values of the head to adjacent memory.
func attendGo(dst, qkv []float32, tokens int, scratch []float32) {
	clear(dst[tokens*width:])
	keys, scratch := scratch[:tokens*headWidth], scratch[tokens*headWidth:]
	values, scratch := scratch[:Padded(tokens)*headWidth], scratch[Padded(tokens)*headWidth:]
	weights := scratch[:Padded(tokens)]
	clear(values[tokens*headWidth:])
	clear(weights[tokens:])
	for head := 0; head < width; head += headWidth {
		for t := range tokens {
			row := qkv[t*3*width+head:]
			copy(keys[t*headWidth:][:headWidth], row[width:])
			copy(values[t*headWidth:][:headWidth], row[2*width:])
		}
		for t := range tokens {
			scoreGo(weights[:tokens], (*[headWidth]float32)(qkv[t*3*width+head:]), keys)
			sum := softmaxGo(weights[:tokens])
			mixGo((*[headWidth]float32)(dst[t*width+head:]), weights, values, 1/sum)
		}
	}
}

// scoreGo writes the products of a query and each key.
func scoreGo(scores []float32, query *[headWidth]float32, keys []float32) {
	for i := range scores {
		key := (*[headWidth]float32)(keys[i*headWidth:])
		var a, b, c, d float32
		for j := 0; j < headWidth; j += 4 {
			a += query[j] * key[j]
			b += query[j+1] * key[j+1]
			c += query[j+2] * key[j+2]
			d += query[j+3] * key[j+3]
		}
		scores[i] = (a + c) + (b + d)
	}
}

// softmaxGo replaces scores by the exponentials of their distances to the largest,
// divided by sqrt(32), and returns their sum.
func softmaxGo(scores []float32) (sum float32) {
	top := scores[0]
	for _, s := range scores {
		top = max(top, s)
	}
	const root = 0.17677669529663687 // 1/sqrt(32)
	for i, s := range scores {
		e := exp((s - top) * root)
		scores[i] = e
		sum += e
	}
	return sum
}

// mixGo writes the sum of values by their weights times factor, of four at a time.
func mixGo(to *[headWidth]float32, weights []float32, values []float32, factor float32) {
	var sum [headWidth]float32
	for i := 0; i < len(weights); i += 4 {
		w, v := (*[4]float32)(weights[i:]), (*[4 * headWidth]float32)(values[i*headWidth:])
		for j := range sum {
			sum[j] += (w[0]*v[j] + w[1]*v[headWidth+j]) + (w[2]*v[2*headWidth+j] + w[3]*v[3*headWidth+j])
		}
	}
	for j, v := range sum {
		to[j] = v * factor
	}
}
