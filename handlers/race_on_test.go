//go:build race

package handlers

// raceFactor is how much slower the race detector makes a program at most.
const raceFactor = 20
