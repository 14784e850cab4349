package architecture_test

import (
	"go/types"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// attackShapes is how many structs may hold an attack. It only ever falls.
const attackShapes = 15

// TestAttackShapes counts the structs that hold an attack: what the service's client reads (apiclient.Attack), what is
// stored of it (record.AttackState), each struct that embeds one that counts, and each that has three or more fields
// with the name and type of theirs. A field that is an attack isn't a copy of one.
func TestAttackShapes(t *testing.T) {
	t.Parallel()
	pkgs := checked(t)
	fields, holds := map[string]types.Type{}, map[types.Type]bool{}
	for path, name := range map[string]string{module + "/apiclient": "Attack",
		module + "/internal/record": "AttackState"} {
		attack := pkgs[path].types.Scope().Lookup(name).Type()
		holds[attack] = true
		for field := range attack.Underlying().(*types.Struct).Fields() {
			if !field.Embedded() {
				fields[field.Name()] = field.Type()
			}
		}
	}
	var found []string
	for again := true; again; { // what embeds one that was found later counts, too
		again = false
		for path, pkg := range pkgs {
			for _, name := range pkg.types.Scope().Names() {
				object, ok := pkg.types.Scope().Lookup(name).(*types.TypeName)
				if !ok || object.IsAlias() {
					continue
				}
				shape, ok := object.Type().Underlying().(*types.Struct)
				if !ok || slices.Contains(found, path+"."+name) || !holds[object.Type()] && !repeats(shape, holds, fields) {
					continue
				}
				holds[object.Type()], again = true, true
				found = append(found, path+"."+name)
			}
		}
	}
	slices.Sort(found)
	t.Logf("%d structs hold an attack: %v", len(found), found)
	require.LessOrEqual(t, len(found), attackShapes, "pass the attack instead of a copy of it: %v", found)
}

// repeats reports whether a struct embeds what holds an attack, or has three of an attack's fields.
func repeats(shape *types.Struct, holds map[types.Type]bool, fields map[string]types.Type) bool {
	same := 0
	for field := range shape.Fields() {
		of := field.Type()
		if pointer, ok := of.(*types.Pointer); ok {
			of = pointer.Elem()
		}
		if field.Embedded() && holds[of] {
			return true
		}
		if copied := fields[field.Name()]; copied != nil && types.Identical(copied, field.Type()) {
			same++
		}
	}
	return same >= 3
}
