package views

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"taskyard/docs"
	"taskyard/task"
)

// ManualPage is one document of the program.
type ManualPage struct {
	Name     string // file name without .md; README is the list of all
	Title    string
	HTML     string
	Sections []ManualSection
}

// ManualSection is the text between two headings of a document.
type ManualSection struct {
	ID    string // of its heading
	Title string
	Level int // 1 is the document itself
	Text  string
}

// ManualHit is a section that a search found.
type ManualHit struct {
	Page    *ManualPage
	Section *ManualSection
	Title   []task.Span
	Excerpt []task.Span
}

// ManualPages returns the documents in the order of docs.Order. They are
// rendered once.
var ManualPages = sync.OnceValue(func() []ManualPage {
	list := make([]ManualPage, 0, len(docs.Order))
	for _, name := range docs.Order {
		src, err := fs.ReadFile(docs.Files, name+".md")
		if err != nil {
			panic(err) // the files are embedded
		}
		list = append(list, newManualPage(name, src))
	}
	return list
})

// FindManualPage returns a document by name, or nil.
func FindManualPage(name string) *ManualPage {
	for i := range ManualPages() {
		if p := &ManualPages()[i]; p.Name == name {
			return p
		}
	}
	return nil
}

// maxManualHits bounds the results of a search.
const maxManualHits = 30

// SearchManual returns the sections that contain every word of q, those with a
// word in their heading first.
func SearchManual(q string) []ManualHit {
	m := task.NewMatcher(q)
	var inTitle, inText []ManualHit
	for i := range ManualPages() {
		p := &ManualPages()[i]
		if p.Name == "README" { // it mentions all others
			continue
		}
		for j := range p.Sections {
			s := &p.Sections[j]
			if !m.Fits(s.Title + " " + s.Text) {
				continue
			}
			excerpt, _ := m.Excerpt(s.Text, 180)
			h := ManualHit{p, s, m.Mark(s.Title), excerpt}
			if slices.ContainsFunc(h.Title, func(part task.Span) bool { return part.Match }) {
				inTitle = append(inTitle, h)
			} else {
				inText = append(inText, h)
			}
		}
	}
	inTitle = append(inTitle, inText...)
	return inTitle[:min(len(inTitle), maxManualHits)]
}

// manualMarkdown renders our own documents: unlike texts of tasks, they have
// headings with IDs, images and links to each other.
var manualMarkdown = goldmark.New(
	goldmark.WithExtensions(
		extension.Linkify, extension.Strikethrough,
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
	),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(manualCode{}, 1))),
)

func newManualPage(name string, src []byte) ManualPage {
	p := ManualPage{Name: name}
	doc := manualMarkdown.Parser().Parse(text.NewReader(src))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, is := n.(*ast.Heading)
		switch {
		case is:
			id, _ := h.AttributeString("id")
			raw, _ := id.([]byte)
			p.Sections = append(p.Sections, ManualSection{ID: string(raw), Title: nodeText(h, src), Level: h.Level})
		case len(p.Sections) > 0:
			s := &p.Sections[len(p.Sections)-1]
			s.Text += nodeText(n, src) + "\n"
		}
	}
	if len(p.Sections) > 0 {
		p.Title = p.Sections[0].Title
	}
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if l, is := n.(*ast.Link); is && entering {
			l.Destination = []byte(manualLink(string(l.Destination)))
		}
		if i, is := n.(*ast.Image); is && entering {
			i.Destination = []byte(URL.ManualFile(path.Base(string(i.Destination))))
		}
		return ast.WalkContinue, nil
	})
	var buf bytes.Buffer
	if err := manualMarkdown.Renderer().Render(&buf, src, doc); err != nil {
		panic(err) // a buffer never fails
	}
	p.HTML = buf.String()
	return p
}

// manualLink converts a link between files of the repository to one between
// pages of the server.
func manualLink(dest string) string {
	file, anchor, _ := strings.Cut(dest, "#")
	name, isDoc := strings.CutSuffix(file, ".md")
	if isDoc && !strings.Contains(name, "/") {
		return URL.Manual(name, anchor)
	}
	return dest
}

// nodeText returns the text below a node, without its markup.
func nodeText(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Value(src))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.AutoLink:
			if entering {
				b.Write(n.Label(src))
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				b.Write(n.Lines().Value(src))
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte('\n')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// ManualModel is the data of ManualView: a document, or search results.
type ManualModel struct {
	Version string
	Pages   []ManualPage
	Page    *ManualPage // nil: results for Query
	Query   string
	Hits    []ManualHit
}

func (m ManualModel) title() string {
	if m.Page == nil {
		return "Search the documentation"
	}
	return m.Page.Title
}

func (m ManualModel) name() string {
	if m.Page == nil {
		return "README"
	}
	return m.Page.Name
}
