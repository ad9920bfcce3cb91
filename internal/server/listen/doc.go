// Package listen serves HTTP on listeners that outlive a lack of file descriptors, slow clients and a shutdown.
package listen
