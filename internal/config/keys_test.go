package config

import (
	"reflect"
	"slices"
	"testing"
)

// TestKeysAndFieldsAgree walks the struct: a setting without a field would be read
// and ignored, a field without a setting could never be set.
func TestKeysAndFieldsAgree(t *testing.T) {
	t.Parallel()
	var fields []string
	var walk func(prefix string, typ reflect.Type)
	walk = func(prefix string, typ reflect.Type) {
		for f := range typ.Fields() {
			name := prefix + f.Tag.Get("toml")
			switch {
			case !f.IsExported():
			case f.Type.Kind() == reflect.Struct:
				walk(name+".", f.Type)
			case f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Struct && prefix == "":
				walk(name+".*.", f.Type.Elem())
			default:
				fields = append(fields, name)
			}
		}
	}
	walk("", reflect.TypeFor[Config]())
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	slices.Sort(fields)
	slices.Sort(names)
	if !slices.Equal(fields, names) {
		t.Errorf("fields: %v\nkeys:   %v", fields, names)
	}
}
