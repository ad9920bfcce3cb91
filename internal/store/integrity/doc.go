// Package integrity checks the data of a store and rebuilds derived data.
//
// Tables says which tables are source data, derived or transient. A check verifies source data by the checksums of
// rows, the limits of values, the references between rows, and the integrity check of SQLite. Damaged or lost source
// data come only from a backup: no repair makes them look right, or removes what refers to them. A check computes what
// derived data must be, and compares that as a whole, for each workspace and kind. A repair rebuilds a kind that
// differs, from undamaged rows alone.
package integrity
