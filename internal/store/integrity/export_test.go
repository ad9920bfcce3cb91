package integrity

// Kinds returns the kinds of derived data that a repair rebuilds.
func Kinds() (list []string) {
	for _, d := range derivations {
		list = append(list, d.kind)
	}
	return list
}

// RestoreAdvice is the result of a repair of source data.
const (
	RestoreAdvice = restoreAdvice
	KeepAdvice    = keepAdvice
)
