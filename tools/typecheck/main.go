// Typecheck type-checks a package, and all that it imports, for another
// platform: go run ./tools/typecheck darwin/arm64 . It needs no C compiler of
// that platform: what comes from C is taken as it is used.
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

// pkg is what go list says of a package.
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
	fmt.Printf("%s: %s and %d packages that it imports are fine\n", os.Args[1], os.Args[2], n-1)
}

// check reads packages in the order in which they import each other.
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

// check returns the first errors of one package of our own; those of others are
// not looked into.
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
			return nil, fmt.Errorf("%s is not there", path)
		}),
		Error: func(err error) {
			if len(errs) < 10 {
				errs = append(errs, err)
			}
		},
	}
	q, _ := conf.Check(p.ImportPath, fset, files, nil) // Error has them all
	if !own {
		return q, nil
	}
	return q, errors.Join(errs...)
}

type importer func(path string) (*types.Package, error)

// Import returns a package that was checked before.
func (f importer) Import(path string) (*types.Package, error) { return f(path) }
