//go:build !amd64

package kernel

func native() []*Variant { return nil }
