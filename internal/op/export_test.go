package op

import "reflect"

// Plan makes the plan of an input type, as Add does.
func Plan(t reflect.Type) { newPlan(t) }
