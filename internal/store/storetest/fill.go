package storetest

import "reflect"

// FilledText is the text that Fill sets.
const FilledText = "x"

// Fill sets a value that is not zero.
func Fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(FilledText)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(.5)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		Fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		Fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			Fill(v.Field(i))
		}
	default:
		v.SetInt(2)
	}
}
