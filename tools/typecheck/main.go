// Typecheck type-checks a package and everything that it imports for another
// platform: go run ./tools/typecheck darwin/arm64 . It needs no C compiler for
// that platform: cgo declarations are accepted as they are used.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pkg is a package as listed by go list.
type pkg struct {
	ImportPath        string
	Dir               string
	GoFiles, CgoFiles []string
	ImportMap         map[string]string
	Module            *struct{ Main bool }
}

func main() {
	if len(os.Args) != 3 || !strings.Contains(os.Args[1], "/") {
		fmt.Fprintln(os.Stderr, "usage: typecheck GOOS/GOARCH PACKAGE")
		os.Exit(2)
	}
	n, err := check(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%s: %s and the %d packages that it imports are OK\n", os.Args[1], os.Args[2], n-1)
}

// check checks packages in dependency order.
func check(platform, name string) (n int, err error) {
	goos, arch, _ := strings.Cut(platform, "/")
	list := exec.CommandContext(context.Background(), "go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,CgoFiles,ImportMap,Module", name)
	list.Env = append(os.Environ(), "CGO_ENABLED=1", "GOOS="+goos, "GOARCH="+arch)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return 0, fmt.Errorf("go list: %w", err)
	}
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; n++ {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		if done[p.ImportPath], err = p.check(arch, done); err != nil {
			return n, err
		}
	}
}

// check returns the first errors of a package of this module. Function bodies of
// other packages are not checked.
func (p *pkg) check(arch string, done map[string]*types.Package) (*types.Package, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range append(p.GoFiles, p.CgoFiles...) {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	own := p.Module != nil && p.Module.Main
	var errs []error
	conf := types.Config{
		FakeImportC: true, IgnoreFuncBodies: !own, Sizes: types.SizesFor("gc", arch),
		Importer: importer(func(path string) (*types.Package, error) {
			if mapped := p.ImportMap[path]; mapped != "" {
				path = mapped
			}
			if q := done[path]; q != nil {
				return q, nil
			}
			return nil, fmt.Errorf("package %s was not checked yet", path)
		}),
		Error: func(err error) {
			if len(errs) < 10 {
				errs = append(errs, err)
			}
		},
	}
	q, _ := conf.Check(p.ImportPath, fset, files, nil) // Error collects them all
	if !own {
		return q, nil
	}
	return q, errors.Join(errs...)
}

type importer func(path string) (*types.Package, error)

// Import returns a package that was already checked.
func (f importer) Import(path string) (*types.Package, error) { return f(path) }
