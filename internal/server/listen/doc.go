// Package listen serves HTTP within the file descriptors of the process, despite slow clients and through a shutdown.
package listen
