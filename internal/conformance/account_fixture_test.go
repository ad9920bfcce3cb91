package conformance_test

import (
	"github.com/loci-memory/loci/internal/service"
)

// accountFixtures are the fixtures of the account.
var accountFixtures = map[string]fixture{
	service.AccountStatus.Name: {needs: accountAccess, args: noArgs},
	service.AccountMe.Name:     {needs: accountAccess, args: noArgs},
}
