package integrity

// WithBandWindow returns options with a limit of the memories whose bands are in memory at once.
func WithBandWindow(o Options, memories int) Options {
	o.bandWindow = memories
	return o
}
