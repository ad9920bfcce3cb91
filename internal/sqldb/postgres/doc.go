// Package postgres opens databases on servers of PostgreSQL, at READ COMMITTED. It retries deadlocks, serialization
// failures, unique violations and lost connections, and works behind a pooler in transaction mode.
package postgres
