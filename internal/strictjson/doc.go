// Package strictjson reads JSON of untrusted authors. Duplicate names, invalid UTF-8, NUL and lone surrogates are
// errors, because two readers may take them for different things.
package strictjson
