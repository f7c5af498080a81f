package tools

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	htmltomarkdown "github.com/JohannesKaufmann/html-to-markdown/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// readable turns what a server sent into text: HTML becomes Markdown, other
// text stays, everything else is refused.
func readable(header string, body []byte) (string, error) {
	kind := mediaType(header, body)
	switch {
	case kind == "text/html" || kind == "application/xhtml+xml":
		text := clean(markdown(decoded(header, body)))
		return text, nil
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "json"), strings.HasSuffix(kind, "xml"),
		strings.HasSuffix(kind, "yaml"), strings.HasSuffix(kind, "javascript"), strings.HasSuffix(kind, "toml"):
		if binary(body) {
			break
		}
		return clean(decoded(header, body)), nil
	}
	return "", fmt.Errorf("the page is %s (%s bytes), not text: it is not shown", cut(kind, 100), count(len(body)))
}

// decoded returns a text as UTF-8, from what the header or the page itself
// name as its encoding.
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

// markdown converts a page. One that the converter cannot cope with is given
// as its bare text.
func markdown(page string) (text string) {
	defer func() {
		if recover() != nil {
			text = bareText(page)
		}
	}()
	text, err := htmltomarkdown.ConvertString(page)
	if err != nil {
		return bareText(page)
	}
	return text
}

// bareText is what stands between the tags.
func bareText(page string) string {
	var out strings.Builder
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return out.String()
		case html.TextToken:
			out.Write(z.Text())
		}
	}
}
