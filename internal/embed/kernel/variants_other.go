//go:build !amd64

package kernel

func assemblyVariants() []*Variant { return nil }
