package kernel

func native() []*Variant { return nil }
