// Package testenv reads the environment of a test run: its tier, the engines and programs that it requires, and the
// linked program of Loci. It has the comparisons that tests share.
package testenv
