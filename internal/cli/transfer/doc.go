// Package transfer has the commands push and pull, which copy memories between this device and a server.
package transfer
