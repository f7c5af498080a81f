//go:build !race

package handlers

// raceFactor is how much slower the race detector makes a program at most.
const raceFactor = 1

// refuseShare is the part of the largest body that tests of costs send.
const refuseShare = 1
