package views

import (
	"strconv"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"taskyard/internal/lazyregexp"
	"taskyard/task"
)

var (
	taskRef  = lazyregexp.New(`^#([1-9][0-9]{0,17})(?:[^0-9A-Za-z_]|$)`)
	agentRef = lazyregexp.New(`^@([a-z0-9][a-z0-9-]{0,62})(?:[^0-9A-Za-z_@]|$)`)
)

// refParser converts #123 and @agent to links if they are separate words.
type refParser struct{}

func (refParser) Trigger() []byte { return []byte{'#', '@'} }

func (refParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if before := block.PrecendingCharacter(); pc.IsInLinkLabel() || unicode.IsLetter(before) ||
		unicode.IsDigit(before) || before == '/' || before == '_' {
		return nil
	}
	line, segment := block.PeekLine()
	var name, dest, class string
	if m := taskRef().FindSubmatch(line); m != nil {
		n, err := strconv.ParseInt(string(m[1]), 10, 64)
		if err != nil {
			return nil
		}
		name, dest, class = string(m[1]), URL.Task(task.ID(n)), "ref"
	} else if m := agentRef().FindSubmatch(line); m != nil {
		name, dest, class = string(m[1]), URL.Agent(string(m[1])), "mention"
	} else {
		return nil
	}
	link := ast.NewLink()
	link.Destination = []byte(dest)
	link.SetAttributeString("class", []byte(class))
	link.AppendChild(link, ast.NewTextSegment(text.NewSegment(segment.Start, segment.Start+1+len(name))))
	block.Advance(1 + len(name))
	return link
}

// ownDirection gives lists and quotes the direction of their script: the marker
// of an Arabic item is on its right. CSS cannot do that: unicode-bidi on
// paragraphs moves no marker.
type ownDirection struct{}

func (ownDirection) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if k := n.Kind(); entering && (k == ast.KindList || k == ast.KindBlockquote) {
			n.SetAttributeString("dir", []byte("auto"))
		}
		return ast.WalkContinue, nil
	})
}

// quietRenderer replaces what untrusted text must not control: headings would
// break the outline of the page, images would load, raw HTML would run.
type quietRenderer struct{}

func (r quietRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindHeading, r.heading)
	reg.Register(ast.KindImage, r.image)
	reg.Register(ast.KindRawHTML, r.rawHTML)
	reg.Register(ast.KindHTMLBlock, r.htmlBlock)
	reg.Register(extast.KindTaskCheckBox, r.checkBox)
}

func (quietRenderer) heading(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<p class="md-heading">`)
	} else {
		_, _ = w.WriteString("</p>\n")
	}
	return ast.WalkContinue, nil
}

func (quietRenderer) image(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		_, _ = w.WriteString("</a>")
		return ast.WalkContinue, nil
	}
	dest := util.EscapeHTML(util.URLEscape(node.(*ast.Image).Destination, true))
	_, _ = w.WriteString(`<a href="` + string(dest) + `">`)
	if !node.HasChildren() {
		_, _ = w.Write(dest)
	}
	return ast.WalkContinue, nil
}

func (quietRenderer) rawHTML(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.Write(util.EscapeHTML(node.(*ast.RawHTML).Segments.Value(source)))
	}
	return ast.WalkSkipChildren, nil
}

func (quietRenderer) htmlBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	block := node.(*ast.HTMLBlock)
	if entering {
		_, _ = w.WriteString("<p>")
		_, _ = w.Write(util.EscapeHTML(block.Lines().Value(source)))
		if block.HasClosure() {
			_, _ = w.Write(util.EscapeHTML(block.ClosureLine.Value(source)))
		}
		_, _ = w.WriteString("</p>\n")
	}
	return ast.WalkSkipChildren, nil
}

func (quietRenderer) checkBox(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		mark := "☐ "
		if node.(*extast.TaskCheckBox).IsChecked {
			mark = "☑ "
		}
		_, _ = w.WriteString(mark)
	}
	return ast.WalkContinue, nil
}
