//go:build race

package handlers

// raceFactor is how much slower the race detector makes a program at most.
const raceFactor = 20

// refuseShare is the part of the largest body that tests of costs send: under
// the race detector an eighth, which may cost an eighth.
const refuseShare = 8
