package handlers

import (
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"

	"taskyard/docs"
	"taskyard/task"
	"taskyard/views"
)

// maxManualQuery bounds a search query, in bytes.
const maxManualQuery = 200

// manualPage shows a document of this version, or the results of a search in
// all of them. Signing in is not required.
func (s *Server) manualPage(c echo.Context) error {
	name := c.Param("page")
	switch path.Ext(name) {
	case ".svg":
		return manualPicture(c, path.Base(name), "image/svg+xml")
	case ".png":
		return manualPicture(c, path.Join("screenshots", path.Base(name)), "image/png")
	}
	m := views.ManualModel{Version: s.opt.Build.Version, Pages: views.ManualPages(), Query: strings.TrimSpace(c.QueryParam("q"))}
	switch {
	case len(m.Query) > maxManualQuery:
		return task.FieldErrorf("q", "must be at most %d bytes", maxManualQuery)
	case m.Query != "":
		m.Hits = views.SearchManual(m.Query)
	case name == "":
		m.Page = views.FindManualPage("README")
	default:
		if m.Page = views.FindManualPage(name); m.Page == nil {
			return task.Errorf(task.NotFound, task.CodeNotFound, "No document has this name. The documentation lists them all.")
		}
	}
	ch, err := s.openChrome(c)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.ManualView(ch, m))
}

func manualPicture(c echo.Context, file, contentType string) error {
	b, err := fs.ReadFile(docs.Files, file)
	if err != nil {
		return task.Errorf(task.NotFound, task.CodeNotFound, "No picture of the documentation has this name")
	}
	return c.Blob(http.StatusOK, contentType, b)
}
