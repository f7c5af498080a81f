// Package examples holds the definitions of agents that the program uses
// itself.
package examples

import "embed"

// Demo holds the agents of the demo, as demo/NAME.md.
//
//go:embed demo/*.md
var Demo embed.FS
