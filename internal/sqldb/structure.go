package sqldb

// A StructureDamage is the damage of one table or index.
type StructureDamage struct {
	Name     string // "" if the damage belongs to neither
	IsIndex  bool
	IsUnused bool   // of pages that hold nothing
	Table    string // of an index
	Detail   string
}

// Repairable reports whether only indexes or unused pages are damaged, which can be rebuilt from the tables.
func (f StructureDamage) Repairable() bool { return f.IsIndex || f.IsUnused }

// A DamageKey identifies a StructureDamage. Its second part separates unused pages from other damage without a name.
type DamageKey struct {
	name       string
	repairable bool
}

// Key returns the key of the damage.
func (f StructureDamage) Key() DamageKey { return DamageKey{f.Name, f.Repairable()} }

// NotChecked is the error of a check that a database cannot make. It says what was not checked, why, and the cure.
type NotChecked string

func (n NotChecked) Error() string { return "sqldb: not checked: " + string(n) }
