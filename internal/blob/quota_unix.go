//go:build unix

package blob

import "syscall"

// errQuota is that of a disk quota.
const errQuota = syscall.EDQUOT
