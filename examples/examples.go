// Package examples contains the agent definitions that the program itself uses.
package examples

import "embed"

// Demo holds the agents of the demo, as demo/NAME.md.
//
//go:embed demo/*.md
var Demo embed.FS
