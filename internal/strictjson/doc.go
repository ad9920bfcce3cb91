// Package strictjson reads JSON of untrusted authors. Walk refuses duplicate names, invalid UTF-8, NUL and lone
// surrogates, because two readers may understand them differently. Scanner.String refuses the last three in one string.
// Raw and Object check the syntax only.
package strictjson
