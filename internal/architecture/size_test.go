package architecture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// How large a room may be beside its budget, tests left out, so that a newcomer can know it.
const (
	maxFiles     = 45
	maxMethods   = 40 // a type's own
	maxInterface = 5  // methods, with embedded interfaces flattened
)

// larger are the exceptions, each with its reason.
var larger = map[string]string{}

// source is a package's production code.
type source struct {
	ImportPath string
	Dir        string
	GoFiles    []string

	files map[string]*ast.File
}

func (s *source) name() string { return strings.TrimPrefix(s.ImportPath, module+"/") }

// sources are the project's packages, by their import paths.
var sources = once(func(t *testing.T) map[string]*source {
	t.Helper()
	all := map[string]*source{}
	for _, s := range goListed[*source](t, "-json=ImportPath,Dir,GoFiles") {
		s.files = map[string]*ast.File{}
		for _, name := range s.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(s.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			s.files[name] = file
		}
		all[s.ImportPath] = s
	}
	return all
})

func TestRoomsStaySmall(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		require.LessOrEqual(t, len(s.GoFiles), maxFiles, "files of %s: split it", s.name())
		for typ, n := range methods(s) {
			if larger[s.name()+"."+typ] == "" {
				require.LessOrEqual(t, n, maxMethods, "methods of %s.%s: break it up", s.name(), typ)
			}
		}
	}
}

func TestInterfacesStaySmall(t *testing.T) {
	t.Parallel()
	all := sources(t)
	for _, s := range all {
		for _, file := range s.files {
			for name, typ := range interfaces(file) {
				if larger[s.name()+"."+name] == "" {
					require.LessOrEqual(t, flattened(t, all, s, file, typ), maxInterface, "methods of interface %s.%s: ask for less", s.name(), name)
				}
			}
		}
	}
}

// methods counts the methods of each type.
func methods(s *source) map[string]int {
	n := map[string]int{}
	for _, file := range s.files {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			n[receiver(f.Recv.List[0].Type)]++
		}
	}
	return n
}

// interfaces are the named interfaces of a file.
func interfaces(file *ast.File) map[string]*ast.InterfaceType {
	all := map[string]*ast.InterfaceType{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			if typ, ok := spec.Type.(*ast.InterfaceType); ok {
				all[spec.Name.Name] = typ
			}
		}
		return true
	})
	return all
}

// flattened counts an interface's methods with those it embeds. One of another module counts as one method.
func flattened(t *testing.T, all map[string]*source, s *source, file *ast.File, typ *ast.InterfaceType) (n int) {
	for _, field := range typ.Methods.List {
		if len(field.Names) > 0 {
			n += len(field.Names)
			continue
		}
		switch embedded := field.Type.(type) {
		case *ast.Ident:
			n += named(t, all, s, embedded.Name)
		case *ast.SelectorExpr:
			n += named(t, all, all[imported(file, embedded.X.(*ast.Ident).Name)], embedded.Sel.Name)
		}
	}
	return n
}

// named counts the methods of a package's interface.
func named(t *testing.T, all map[string]*source, s *source, name string) int {
	if s == nil {
		return 1
	}
	for _, file := range s.files {
		if typ, ok := interfaces(file)[name]; ok {
			return flattened(t, all, s, file, typ)
		}
	}
	return 1
}

// imported is the path that a file imports under a name.
func imported(file *ast.File, name string) string {
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if spec.Name != nil && spec.Name.Name == name || spec.Name == nil && strings.HasSuffix(path, "/"+name) {
			return path
		}
	}
	return ""
}
