// Package docs embeds the documents of this folder, so that a server shows
// those of its own version.
package docs

import "embed"

// Files are the documents, and the pictures that they show.
//
//go:embed *.md *.svg screenshots/*.png
var Files embed.FS

// Order names the documents without .md, in the order in which a newcomer
// reads them. README is the list of them all.
var Order = []string{
	"README", "quickstart", "tutorial", "install", "concepts", "agents", "runners", "results", "cli", "operations", "security",
	"troubleshooting", "scaling", "comparison", "import", "speed", "contributing", "testing", "checklist",
}
