package architecture_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// singles is how many interfaces may have a single implementation in what is shipped. It only ever falls.
const singles = 12

// TestInterfaces counts the interfaces of the project, without internal/sandbox, that one type of it implements: each
// of them says why it is one.
func TestInterfaces(t *testing.T) {
	t.Parallel()
	pkgs := checked(t)
	var found, silent []string
	for _, pkg := range pkgs {
		for _, decl := range pkg.interfaces {
			if by := implementations(pkgs, decl.is); len(by) == 1 {
				found = append(found, fmt.Sprintf("%s.%s by %s", pkg.path, decl.name, by[0]))
				if !strings.Contains(decl.says, "An interface because") {
					silent = append(silent, pkg.path+"."+decl.name)
				}
			}
		}
	}
	slices.Sort(found)
	t.Logf("%d interfaces have one implementation:\n%s", len(found), strings.Join(found, "\n"))
	require.LessOrEqual(t, len(found), singles, "an interface needs two implementations, or a reason that a test can't do without")
	require.Empty(t, silent, "these don't say why they are interfaces")
}

// implementations are the project's own types that an interface's values can have.
func implementations(pkgs map[string]*checkedPackage, of *types.Interface) (by []string) {
	for _, pkg := range pkgs {
		for _, name := range pkg.types.Scope().Names() {
			object, ok := pkg.types.Scope().Lookup(name).(*types.TypeName)
			if !ok || object.IsAlias() || types.IsInterface(object.Type()) {
				continue
			}
			if named, ok := object.Type().(*types.Named); ok && named.TypeParams() != nil {
				continue
			}
			if types.Implements(object.Type(), of) || types.Implements(types.NewPointer(object.Type()), of) {
				by = append(by, pkg.path+"."+name)
			}
		}
	}
	return by
}

type declared struct {
	name, says string
	is         *types.Interface
}

type checkedPackage struct {
	path       string
	types      *types.Package
	interfaces []declared
}

// checked are the project's packages with their types. Declarations are enough for that, so nothing is compiled.
var checked = once(func(t *testing.T) map[string]*checkedPackage {
	t.Helper()
	files, all, own := token.NewFileSet(), map[string]*types.Package{"unsafe": types.Unsafe}, map[string]*checkedPackage{}
	for _, p := range goListed[struct {
		ImportPath, Dir string
		GoFiles         []string
		ImportMap       map[string]string
	}](t, "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap") {
		if p.ImportPath == "unsafe" {
			continue
		}
		pkg := check(t, files, p.ImportPath, p.Dir, p.GoFiles, importing(func(path string) (*types.Package, error) {
			return all[cmp.Or(p.ImportMap[path], path)], nil
		}))
		all[p.ImportPath] = pkg.types
		if within(p.ImportPath, module) && !within(p.ImportPath, module+"/internal/sandbox") {
			own[p.ImportPath] = pkg
		}
	}
	return own
})

type importing func(path string) (*types.Package, error)

func (i importing) Import(path string) (*types.Package, error) { return i(path) }

// check has a package's types and its named interfaces.
func check(t *testing.T, files *token.FileSet, path, dir string, names []string, from types.Importer) *checkedPackage {
	t.Helper()
	var parsed []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(files, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		parsed = append(parsed, f)
	}
	pkg := &checkedPackage{path: strings.TrimPrefix(path, module+"/")}
	var err error
	pkg.types, err = (&types.Config{Importer: from, IgnoreFuncBodies: true, Sizes: types.SizesFor("gc", runtime.GOARCH)}).Check(path, files, parsed, nil)
	require.NoError(t, err)
	says := map[string]string{}
	for _, f := range parsed {
		for _, decl := range f.Decls {
			if group, ok := decl.(*ast.GenDecl); ok && group.Tok == token.TYPE {
				for _, spec := range group.Specs {
					one := spec.(*ast.TypeSpec)
					says[one.Name.Name] = group.Doc.Text() + one.Doc.Text()
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(says)) {
		object, ok := pkg.types.Scope().Lookup(name).(*types.TypeName)
		if is, named := object.Type().Underlying().(*types.Interface); ok && named && is.NumMethods() > 0 {
			pkg.interfaces = append(pkg.interfaces, declared{name, strings.Join(strings.Fields(says[name]), " "), is})
		}
	}
	return pkg
}
