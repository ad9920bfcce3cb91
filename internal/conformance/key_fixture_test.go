package conformance_test

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// keyFixtures are the fixtures of API keys.
var keyFixtures = map[string]fixture{
	service.KeyList.Name:   {needs: accountAccess, args: fixed(args{"limit": 1}), refusals: []refusal{badCursor(nil)}},
	service.KeyCreate.Name: {needs: accountAccess, args: fixed(args{"name": "laptop"})},
	service.KeyRevoke.Name: {
		needs: ownerOfRecord,
		args: func(s testScene) args {
			k := testenv.Must(s.Service.AddKey(s.t.Context(), loci.Email(s.Ann.Email), "old"))(s.t)
			return args{"keyId": k.Key.ID}
		},
		names: []string{"keyId"},
	},
}
