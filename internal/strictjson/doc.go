// Package strictjson reads JSON that was written by others: names that are given twice, invalid UTF-8, NUL and lone
// surrogates are errors, because two readers may take them for different things.
package strictjson
