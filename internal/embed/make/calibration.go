package main

import (
	"math/rand/v2"
	"strings"

	"github.com/loci-memory/loci/internal/embed"
)

// calibration returns texts, as ids, for rounding the dense layers. One part is the card of the model, which is English
// with some code. The other part is random pieces, so that the whole vocabulary has its share. Both are cut into texts
// of one piece to 128, because short texts have different inputs. None of them is used to measure the result.
func (p *sourceModel) calibration() ([][]int32, error) {
	tokenizer, err := embed.NewTokenizer(strings.Fields(p.vocabulary))
	if err != nil {
		return nil, err
	}
	const first = 999 // pieces before it have no text
	rng := rand.NewPCG(1, 2)
	drawn := make([]int32, 3000)
	for i := range drawn {
		drawn[i] = int32(first + rng.Uint64()%(vocabulary-first))
	}
	card := tokenizer.Encode(nil, p.modelCard, len(p.modelCard))
	cls, sep := card[0], card[len(card)-1]
	var texts [][]int32
	add := func(ids []int32, lengths ...int) {
		for i := 0; len(ids) > 0; i++ {
			n := min(lengths[i%len(lengths)], len(ids))
			texts = append(texts, append(append([]int32{cls}, ids[:n]...), sep))
			ids = ids[n:]
		}
	}
	add(card[1:len(card)-1], 2, 4, 8, 16, 32, 64, 128)
	add(drawn[150:], 2, 4, 8, 16, 32, 64, 128)
	add(drawn[:150], 1)
	return texts, nil
}
