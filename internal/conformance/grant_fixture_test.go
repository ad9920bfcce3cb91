package conformance_test

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// grantFixtures are the fixtures of the grants of OAuth clients.
var grantFixtures = map[string]fixture{
	service.GrantList.Name: {
		needs:    accountAccess,
		server:   true,
		args:     fixed(args{"limit": 1}),
		refusals: []refusal{badCursor(nil)},
	},
	service.GrantRevoke.Name: {
		needs:  ownerOfRecord,
		server: true,
		args:   func(s testScene) args { return args{"grantId": s.grant(s.Ann)} },
		names:  []string{"grantId"},
	},
}

// grant lets a client use the team workspace of a person, and returns the id of the grant.
func (s testScene) grant(p *conformance.Person) loci.ID {
	storetest.Token(s.t, s.Store, p.ID, s.Team)
	return testenv.Must(s.Service.ListGrants(s.t.Context(), p.Actor(), loci.ListGrants{}))(s.t).Grants[0].ID
}
