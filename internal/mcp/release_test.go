//go:build !conformance

package mcp

import (
	"go/build"
	"strings"
	"testing"
)

func TestReleaseLacksFixturesOfConformanceSuite(t *testing.T) {
	t.Parallel()
	release := build.Default
	release.BuildTags = []string{"sqlite_fts5"}
	if in, err := release.MatchFile(".", "conformance_fixture.go"); in || err != nil {
		t.Errorf("the fixtures are in the release: %v, %v", in, err)
	}
	release.BuildTags = append(release.BuildTags, "conformance")
	if in, err := release.MatchFile(".", "conformance_fixture.go"); !in || err != nil {
		t.Errorf("the fixtures are in no build: %v, %v", in, err)
	}
	for _, p := range prompts {
		if strings.HasPrefix(p.Name, "test_") {
			t.Errorf("the release has the prompt %s", p.Name)
		}
	}
	for _, r := range templates {
		if !strings.HasPrefix(r.URITemplate, "loci://") {
			t.Errorf("the release has the template %s", r.URITemplate)
		}
	}
}
