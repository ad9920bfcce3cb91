package service

import (
	"context"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

// CreateAtlas makes an atlas in a workspace that the actor manages.
func (s *Service) CreateAtlas(ctx context.Context, who *loci.Actor, in loci.CreateAtlas) (loci.CreatedAtlas, error) {
	return write(ctx, s, who, func(tx *store.Tx) (out loci.CreatedAtlas, err error) {
		var w *store.Workspace
		if in.WorkspaceID == "" {
			w, err = tx.PersonalWorkspace()
		} else {
			w, err = tx.Workspace(in.WorkspaceID, loci.Admin)
		}
		if err != nil {
			return out, err
		}
		out.Atlas, err = w.AddAtlas(loci.Atlas{Name: string(in.Name), Keywords: in.Keywords.Different(), Description: string(in.Description)}, s.Plan.Atlases)
		return out, err
	})
}

// GetAtlas reads an atlas.
func (s *Service) GetAtlas(ctx context.Context, who *loci.Actor, in loci.GetAtlas) (loci.OneAtlas, error) {
	return read(ctx, s, who, func(tx *store.Tx) (loci.OneAtlas, error) {
		a, err := tx.AtlasRecord(in.AtlasID)
		return loci.OneAtlas{Atlas: a}, err
	})
}

// UpdateAtlas changes what is given of an atlas.
func (s *Service) UpdateAtlas(ctx context.Context, who *loci.Actor, in loci.UpdateAtlas) (loci.OneAtlas, error) {
	return write(ctx, s, who, func(tx *store.Tx) (out loci.OneAtlas, err error) {
		a, err := tx.Atlas(in.AtlasID, loci.Admin)
		if err != nil {
			return out, err
		}
		r, err := a.Record()
		if err != nil {
			return out, err
		}
		if err := unchanged(who, r.Tag()); err != nil {
			return out, err
		}
		if in.Name != nil {
			r.Name = string(*in.Name)
		}
		if in.Keywords != nil {
			r.Keywords = in.Keywords.Different()
		}
		if in.Description != nil {
			r.Description = string(*in.Description)
		}
		out.Atlas, err = a.Set(r)
		return out, err
	})
}

// unchanged holds a change to the If-Match that it came with.
func unchanged(who *loci.Actor, tag string) error {
	if who.IfMatch == "" {
		return nil
	}
	for wanted := range strings.SplitSeq(who.IfMatch, ",") {
		if wanted = strings.TrimSpace(wanted); wanted == tag || wanted == "*" {
			return nil
		}
	}
	return loci.Fail(loci.VersionConflict)
}

// ListAtlases lists atlases, newest first.
func (s *Service) ListAtlases(ctx context.Context, who *loci.Actor, in loci.ListAtlases) (loci.Atlases, error) {
	cursor, limit := in.Cursor, in.Limit
	in.Cursor, in.Limit = "", 0
	q := question{s, who, "atlas.list", in}
	p, err := q.page(cursor, limit)
	if err != nil {
		return loci.Atlases{}, err
	}
	return read(ctx, s, who, func(tx *store.Tx) (out loci.Atlases, err error) {
		list, err := tx.Atlases(in.WorkspaceID, len(in.Include) > 0, p)
		out.Atlases, out.NextCursor = paged(q, list, func(a loci.Atlas) store.Mark {
			return store.Mark{At: a.CreatedAt, ID: a.ID}
		})
		return out, err
	})
}
