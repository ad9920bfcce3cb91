// Package resolve finds the records that people and agents name: by a part of an id, or by a name. Commands and tools
// use it. REST takes whole ids alone.
package resolve
