//go:build !unix

package blob

import "errors"

// errQuota is that of a disk quota, which this system does not tell.
var errQuota = errors.New("disk quota exceeded")
