// Package bench has the command that measures the quality of search.
package bench
