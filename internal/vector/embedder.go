package vector

import "context"

// An Embedder turns texts into vectors, so that texts of like meaning have
// vectors with a large dot product.
type Embedder interface {
	// Generation names the model and all that shapes its vectors. Vectors of
	// two generations are never compared.
	Generation() string

	// Pieces counts the pieces in which the model reads a text, and of them
	// those that say nothing to it. A model that does not tell gives zeros.
	Pieces(text string) (pieces, unknown int)

	// Embed returns one vector of norm 1 for each text, all of one length. A
	// text has at most MaxPieces pieces.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// MaxChunkTokens is the longest text that is embedded, in tokens, without those that the model adds at the ends.
const MaxChunkTokens = 126

// Readable reports whether a model can read a text: at most a fifth of the tokens are unknown.
func Readable(text string, e Embedder) bool {
	pieces, unknown := e.Pieces(text)
	return 5*unknown <= pieces
}
