module github.com/loci-memory/loci/scripts/judges/streams/go

go 1.26.0

require github.com/tmaxmax/go-sse v0.12.0
