// Package console lists the pages of the console, group after group. Each group is a package beside this one.
package console

import (
	"slices"

	"github.com/loci-memory/loci/internal/web/approvals"
	"github.com/loci-memory/loci/internal/web/memories"
)

// Pages are the pages of the console.
var Pages = slices.Concat(memories.Pages, approvals.Pages)
