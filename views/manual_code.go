package views

import (
	"strconv"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// manualCode renders code blocks like other pages, with a copy button.
type manualCode struct{}

func (r manualCode) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindFencedCodeBlock, r.block)
}

func (manualCode) block(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	lines := n.Lines()
	id := "code-" + strconv.Itoa(lines.At(0).Start)
	_, _ = w.WriteString(`<div class="docs-curl"><pre class="code" id="` + id + `" tabindex="0" role="region" aria-label="Code">`)
	_, _ = w.Write(util.EscapeHTML(lines.Value(source)))
	_, _ = w.WriteString(`</pre><button class="btn small scripted" type="button" data-copy="#` + id +
		`" aria-label="Copy the code">Copy</button></div>` + "\n")
	return ast.WalkSkipChildren, nil
}
