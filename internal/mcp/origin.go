package mcp

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
)

// An originChecker refuses requests of pages of other sites.
type originChecker struct {
	hosts   *httpapi.AllowedHosts
	origins []string
}

func (d *Server) newOriginChecker() originChecker {
	g := originChecker{hosts: d.Hosts, origins: d.Origins}
	if g.hosts == nil {
		g.hosts = httpapi.NewAllowedHosts(d.PublicURL, nil)
	}
	if u, err := url.Parse(d.PublicURL); err == nil && u.Host != "" {
		g.origins = append(slices.Clone(g.origins), u.Scheme+"://"+u.Host)
	}
	return g
}

func (g originChecker) check(r *http.Request) error {
	if err := g.hosts.Check(r); err != nil {
		return err
	}
	for _, origin := range r.Header.Values("Origin") {
		if u, err := url.Parse(origin); slices.Contains(g.origins, origin) ||
			err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host) {
			continue
		}
		return loci.Errorf(loci.CodeForbidden, "Pages of this origin may not call: the server's operator can allow "+
			"the "+
			"origin.")
	}
	return nil
}
