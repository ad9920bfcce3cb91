package kernel

const (
	width = 384 // of a token in attention
	heads = 12
	depth = width / heads // of a head
)

// ScratchLen is how many values Attention needs to work with.
func ScratchLen(tokens int) int {
	const scores, mask = 4, 1
	return padKeys(tokens) * (2*depth + scores + mask)
}

// padKeys rounds up to the sixteen keys that kernels take together.
func padKeys(tokens int) int { return (tokens + 15) &^ 15 }

// Attention writes softmax(Q K^T / sqrt(32)) V of each of the twelve heads to dst,
// which is [Padded(tokens)][384]. qkv is [Padded(tokens)][1152]: the 384 values of
// Q, those of K, those of V, each in heads of 32. Scratch has at least
// [ScratchLen](tokens) values without meaning.
func (v *Variant) Attention(dst, qkv []float32, tokens int, scratch []float32) {
	padded := Padded(tokens)
	v.attend(dst[:padded*width], qkv[:padded*3*width], tokens, scratch[:ScratchLen(tokens)])
}

func attendGo(dst, qkv []float32, tokens int, scratch []float32) {
	clear(dst[tokens*width:])
	weights := scratch[:tokens]
	for head := 0; head < width; head += depth {
		for t := range tokens {
			query := (*[depth]float32)(qkv[t*3*width+head:])
			to := (*[depth]float32)(dst[t*width+head:])
			scoreGo(weights, query, qkv[width+head:])
			sum := softmaxGo(weights)
			mixGo(to, weights, qkv[2*width+head:], 1/sum)
		}
	}
}

// scoreGo writes the products of a query and each key; keys are 1152 values apart.
func scoreGo(scores []float32, query *[depth]float32, keys []float32) {
	for i := range scores {
		key := (*[depth]float32)(keys[i*3*width:])
		var a, b, c, d float32
		for j := 0; j < depth; j += 4 {
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

// mixGo writes the sum of values by their weights times factor; values are 1152
// apart.
func mixGo(to *[depth]float32, weights []float32, values []float32, factor float32) {
	var sum [depth]float32
	for i, w := range weights {
		for j, v := range (*[depth]float32)(values[i*3*width:]) {
			sum[j] += w * v
		}
	}
	for j, v := range sum {
		to[j] = v * factor
	}
}
