package config

import (
	"reflect"
	"strings"
)

// Described is a key of the file, for the reference that is generated.
type Described struct {
	// Path is where it stands, with NAME for a name of one's own and [] for an entry of a list.
	Path string
	// Type says what its value is: "a size", "a mapping" …
	Type string
	// Default is what holds where nothing is written, "" for nothing, or for what Doc says.
	Default  string
	Words    []string // that are allowed; nil for any value
	Min, Max string
	Doc      string
	Required bool
	// Restart says that a change is taken at the next start only.
	Restart bool
	// Like is the path of the section whose keys stand below it too, "" for none.
	Like string
}

// Keys are all keys of the file, in its order. What has the same keys as a section before it has
// them by [Described.Like] alone.
func Keys() []Described {
	r := &lister{seen: map[reflect.Type]string{}}
	r.section("", reflect.TypeFor[Config](), false)
	return r.keys
}

type lister struct {
	keys []Described
	seen map[reflect.Type]string // sections, by where they stood first
}

func (r *lister) section(at string, t reflect.Type, restart bool) {
	r.seen[t] = at
	for i := range t.NumField() {
		sf := t.Field(i)
		name, is := sf.Tag.Lookup("yaml")
		switch {
		case !is:
		case name == ",inline":
			if like, there := r.seen[sf.Type]; there {
				r.keys = append(r.keys, Described{Path: below(at, "…"), Like: like})
				continue
			}
			r.section(at, sf.Type, restart)
		default:
			r.key(below(at, name), newField(sf, name), restart)
		}
	}
}

func (r *lister) key(at string, f field, restart bool) {
	restart = restart || f.restart
	d := Described{Path: at, Type: typeName(f.typ), Default: f.def, Words: f.enum, Min: f.min, Max: f.max, Doc: f.doc, Required: f.required, Restart: restart}
	if f.hasDef && f.def == "" {
		d.Default = `""`
	}
	t, within := f.typ, at
	for !isScalar(t) && (t.Kind() == reflect.Map || t.Kind() == reflect.Slice) {
		if t.Kind() == reflect.Map {
			within += ".NAME"
		} else {
			within += "[]"
		}
		t = t.Elem()
	}
	if isScalar(t) || t.Kind() != reflect.Struct {
		r.keys = append(r.keys, d)
		return
	}
	d.Like = r.seen[t]
	r.keys = append(r.keys, d)
	if d.Like == "" {
		r.section(within, t, restart)
	}
}

func below(at, name string) string { return strings.TrimPrefix(at+"."+name, ".") }

// Variables are the environment variables that make a provider of each vendor where there is no
// file, or one without providers and models; see [FromEnv].
func Variables() []string {
	var out []string
	for _, v := range vendors {
		for _, text := range []string{"${" + v.key + "}", v.url, v.version, v.model} {
			for _, part := range strings.Split(text, "${")[1:] {
				name, _, _ := strings.Cut(part, "}")
				name, _, _ = strings.Cut(name, ":-")
				out = append(out, name)
			}
		}
	}
	return out
}
