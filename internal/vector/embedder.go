package vector

import "context"

// An Embedder turns texts into vectors. Texts of similar meaning have vectors with a large dot product.
type Embedder interface {
	// Generation identifies the model and all settings of its vectors. Vectors of two generations are never compared.
	Generation() string

	// CountTokens returns the number of tokens of a text, and of those unknown to the model. It returns zeros for a
	// model without a tokenizer.
	CountTokens(text string) (tokens, unknown int)

	// Embed returns one vector of norm 1 for each text, all of one length. A readable text has at most MaxChunkTokens
	// tokens.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// A LocalEmbedder computes in this process, one text after another. It takes processors from calls.
type LocalEmbedder interface {
	Embedder
	ComputesLocally()
}

// MaxChunkTokens is the greatest length of an embedded text in tokens. Those that the model adds at the ends are not
// counted.
const MaxChunkTokens = 126

// Readable reports whether a model can read a text: at most a fifth of its tokens are unknown.
func Readable(text string, e Embedder) bool {
	tokens, unknown := e.CountTokens(text)
	return 5*unknown <= tokens
}
