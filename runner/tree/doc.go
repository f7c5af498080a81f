// Package tree keeps a program and all that it starts together, finds every
// process of it, and kills them. A keeper is a process between the server and
// the program; what the program starts, in whatever session, stays below it.
// It works on Linux; elsewhere it does nothing.
package tree
