package extract

import "github.com/loci-memory/loci"

// abandonments void a whole prompt.
var abandonments = []string{"forget that", "forget it", "never mind", "nevermind", "scrap ", "no wait",
	"changed my mind", "off the table", "gave up on", "overruled", "ignore what i said", "undo it", "just kidding",
	"forget about", "i was joking"}

func givesUp(text string) bool { return containsOf(lowerASCII(text), abandonments) }

func (v vector) score(isResponse bool) (sum float64) {
	for n, is := range v {
		if is {
			w := weights[n]
			if isResponse {
				sum += w.response
			} else {
				sum += w.prompt
			}
		}
	}
	if isResponse {
		return sum + bias.response
	}
	return sum + bias.prompt
}

func threshold(isResponse bool) float64 { return 0 }

type weight struct{ prompt, response float64 }

var (
	weights = make([]weight, len(cues)+int(shapes))
	bias    weight
)

func (v vector) kind() loci.MemoryType { return loci.TypeFact }
