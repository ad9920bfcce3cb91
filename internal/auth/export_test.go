package auth

import "context"

// Save is what a gate does every saveEvery.
func (g *Gate) Save(ctx context.Context) { g.save(ctx) }
