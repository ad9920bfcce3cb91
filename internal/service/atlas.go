package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/service/cursor"
	"github.com/loci-memory/loci/internal/store"
)

// CreateAtlas makes an atlas in a workspace that the actor manages.
func (s *Service) CreateAtlas(ctx context.Context, actor *identity.Actor,
	in loci.CreateAtlas) (loci.CreatedAtlas, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out loci.CreatedAtlas, err error) {
		var w *store.Workspace
		if in.WorkspaceID == "" {
			w, err = tx.DefaultWorkspace(loci.RoleAdmin)
		} else {
			w, err = tx.Workspace(in.WorkspaceID, loci.RoleAdmin, store.ToChange)
		}
		if err != nil {
			return out, err
		}
		out.Atlas, err = w.AddAtlas(loci.Atlas{Name: string(in.Name), Keywords: in.Keywords.Unique(),
			Description: string(in.Description)})
		return out, err
	})
}

// GetAtlas reads an atlas.
func (s *Service) GetAtlas(ctx context.Context, actor *identity.Actor, in loci.GetAtlas) (loci.OneAtlas, error) {
	return store.Read(ctx, s.Store, actor, func(tx *store.Tx) (loci.OneAtlas, error) {
		a, err := tx.AtlasRecord(in.AtlasID)
		return loci.OneAtlas{Atlas: a}, err
	})
}

// UpdateAtlas changes the given fields of an atlas.
func (s *Service) UpdateAtlas(ctx context.Context, actor *identity.Actor, in loci.UpdateAtlas) (loci.OneAtlas, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out loci.OneAtlas, err error) {
		a, err := tx.Atlas(in.AtlasID, loci.RoleAdmin, store.ToChange)
		if err != nil {
			return out, err
		}
		out.Atlas, err = a.Update(func(r *loci.Atlas) {
			if in.Name != nil {
				r.Name = string(*in.Name)
			}
			if in.Keywords != nil {
				r.Keywords = in.Keywords.Unique()
			}
			if in.Description != nil {
				r.Description = string(*in.Description)
			}
		})
		return out, err
	})
}

// ArchiveAtlas archives or restores an atlas.
func (s *Service) ArchiveAtlas(ctx context.Context, actor *identity.Actor,
	in loci.ArchiveAtlas) (loci.OneAtlas, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out loci.OneAtlas, err error) {
		a, err := tx.Atlas(in.AtlasID, loci.RoleAdmin, store.ToMove)
		if err == nil {
			out.Atlas, err = a.SetArchived(in.Archived == nil || *in.Archived)
		}
		return out, err
	})
}

// DeleteAtlas deletes an atlas with its memories.
func (s *Service) DeleteAtlas(ctx context.Context, actor *identity.Actor, in loci.DeleteAtlas) (loci.Deleted, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (loci.Deleted, error) {
		return tx.DeleteAtlas(in.AtlasID, in.DryRun)
	})
}

// ListAtlases lists atlases, newest first.
func (s *Service) ListAtlases(ctx context.Context, actor *identity.Actor,
	in loci.ListAtlases) (out loci.Atlases, err error) {
	out.Atlases, out.Page, err = cursor.ListPage(ctx, s.Store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[loci.Atlas], error) {
			return tx.Atlases(store.AtlasFilter{WorkspaceID: in.WorkspaceID, Archived: len(in.Include) > 0}, p)
		},
		func(a loci.Atlas) page.Key { return page.Key{At: a.CreatedAt, ID: a.ID} })
	return out, err
}
