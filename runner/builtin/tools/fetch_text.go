package tools

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"taskyard/task"
)

// maxMarkdown bounds the HTML that is converted, without scripts and styles: on
// some pages, the converter takes quadratic time.
const maxMarkdown = 256 << 10

// readable converts a response to text: HTML becomes Markdown, other text stays
// unchanged, everything else is rejected.
func readable(header string, body []byte) (string, error) {
	kind := mediaType(header, body)
	switch {
	case kind == "text/html" || kind == "application/xhtml+xml":
		return task.CleanText(markdown(decoded(header, body))), nil
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "json"), strings.HasSuffix(kind, "xml"),
		strings.HasSuffix(kind, "yaml"), strings.HasSuffix(kind, "javascript"), strings.HasSuffix(kind, "toml"):
		if isBinary(body) {
			break
		}
		return task.CleanText(decoded(header, body)), nil
	}
	return "", fmt.Errorf("the page is %s (%s bytes), not text: it is not shown", task.ClipChars(kind, 100), count(len(body)))
}

// decoded returns a text as UTF-8. The header or the page itself determines the
// encoding.
func decoded(header string, body []byte) string {
	r, err := charset.NewReader(bytes.NewReader(body), header)
	if err != nil {
		return string(body)
	}
	text, err := io.ReadAll(io.LimitReader(r, 3*maxFetchBody))
	if err != nil {
		return string(body)
	}
	return string(text)
}

// markdown converts a page. If a page is too large for the converter, or makes
// it fail, the plain text is returned.
func markdown(page string) (text string) {
	page = stripPage(page, true)
	if len(page) > maxMarkdown {
		return stripPage(page, false)
	}
	defer func() {
		if recover() != nil {
			text = stripPage(page, false)
		}
	}()
	// Do not escape: the result is never rendered again, and escaping takes the
	// longest on hostile pages.
	conv := converter.NewConverter(
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin()),
		converter.WithEscapeMode(converter.EscapeModeDisabled))
	text, err := conv.ConvertString(page)
	if err != nil {
		return stripPage(page, false)
	}
	return text
}

// unread are the elements whose content is not shown to readers.
var unread = map[string]bool{"script": true, "style": true, "template": true, "svg": true}

// stripPage returns a page without scripts, styles, images and comments, and
// without its tags unless tags is set.
func stripPage(page string, tags bool) string {
	var out strings.Builder
	skip := "" // the element that is being skipped
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := z.Next()
		raw := z.Raw()
		switch kind {
		case html.ErrorToken:
			return out.String()
		case html.TextToken:
			if skip == "" && tags {
				out.Write(raw)
			} else if skip == "" {
				out.Write(z.Text())
			}
			continue
		case html.CommentToken:
			continue
		}
		raw = append([]byte(nil), raw...) // lower-casing changes the name in place
		name, _ := z.TagName()
		switch {
		case skip != "":
			if kind == html.EndTagToken && string(name) == skip {
				skip = ""
			}
		case kind == html.StartTagToken && unread[string(name)]:
			skip = string(name)
		case tags:
			out.Write(raw)
		case bytes.HasPrefix(raw, []byte("</")):
			out.WriteByte('\n')
		}
	}
}
