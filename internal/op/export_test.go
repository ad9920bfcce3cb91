package op

import "reflect"

// NewInputSpec makes the plan of an input type, as Add does.
func NewInputSpec(t reflect.Type) { newInputSpec(t) }
