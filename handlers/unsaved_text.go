package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// prose lists the fields with text that people would not want to type again;
// never a password or a token.
var prose = []struct{ name, label string }{
	{"title", "Title"},
	{"name", "Name"},
	{"description", "Description"},
	{"content", "Text"},
	{"comment", "Comment"},
	{"reason", "Reason"},
	{"summary", "Summary"},
	{"details", "Details"},
	{"steps", "Steps"},
	{"links", "Links"},
	{"labels", "Labels"},
	{"value", "URL or path"},
	{"label", "Label"},
	{"repository", "Repository"},
	{"item", "Item"},
	{"text", "Text"},
}

// unsavedText returns the text typed into a form that failed, for a page that
// does not show the form again.
func unsavedText(c echo.Context) (list []views.UnsavedField) {
	r := c.Request()
	if r.Method != http.MethodPost || strings.HasSuffix(r.URL.Path, "/delete") {
		return nil
	}
	for _, f := range prose {
		if f.name == "text" && r.PostFormValue("inline") != "" {
			continue // there it is the mark of what the reader saw
		}
		if v := text(c, f.name); strings.TrimSpace(v) != "" && r.PostForm.Has(f.name) {
			list = append(list, views.UnsavedField{Label: f.label, Text: v})
		}
	}
	return list
}

// unsavedTextFor is like unsavedText, unless the form may not be the reader's
// own.
func unsavedTextFor(c echo.Context, p *Problem) []views.UnsavedField {
	if task.Code(p.Code) == task.CodeCrossSite || p.Status == http.StatusMisdirectedRequest || p.Status == http.StatusRequestEntityTooLarge {
		return nil
	}
	return unsavedText(c)
}
