// Package listen is the command that follows the messages to an agent, prints them, or runs a program for each.
package listen
