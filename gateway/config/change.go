package config

import (
	"maps"
	"reflect"
	"slices"
)

// Change is a difference between two configurations. It tells where, and no value.
type Change struct {
	// Path is the key, such as providers.local.base_url. Entries of lists that have a name are
	// told by it: keys.dev.
	Path string
	// How is "changed", or of an entry "added" or "removed".
	How string
	// Restart says that the key is read at the start of the process only.
	Restart bool
}

// String is the change in a line of a log.
func (c Change) String() string {
	if c.How == changed {
		return c.Path
	}
	return c.Path + " (" + c.How + ")"
}

// The values of Change.How.
const (
	changed = "changed"
	added   = "added"
	removed = "removed"
)

// Changes are the differences from one configuration to another, in the order of the file's keys.
func (c *Config) Changes(to *Config) []Change {
	d := &differ{}
	d.section("", reflect.ValueOf(c).Elem(), reflect.ValueOf(to).Elem(), false)
	return d.found
}

// Hold gives all keys that are read at the start of the process only the values that they have in
// from. It is for a configuration that was read later; [Config.Validate] says whether it is good
// like that.
func (c *Config) Hold(from *Config) { hold(reflect.ValueOf(c).Elem(), reflect.ValueOf(from).Elem()) }

func hold(to, from reflect.Value) {
	for _, f := range fieldsOf(to.Type()) {
		switch v := to.FieldByIndex(f.index); {
		case f.restart:
			v.Set(from.FieldByIndex(f.index))
		case v.Kind() == reflect.Struct && !isScalar(v.Type()):
			hold(v, from.FieldByIndex(f.index))
		}
	}
}

// differ looks for differences.
type differ struct{ found []Change }

func (d *differ) add(p path, how string, restart bool) {
	d.found = append(d.found, Change{Path: string(p), How: how, Restart: restart})
}

func (d *differ) section(p path, a, b reflect.Value, restart bool) {
	for _, f := range fieldsOf(a.Type()) {
		d.value(p.Key(f.name), a.FieldByIndex(f.index), b.FieldByIndex(f.index), restart || f.restart)
	}
}

func (d *differ) value(p path, a, b reflect.Value, restart bool) {
	if reflect.DeepEqual(a.Interface(), b.Interface()) {
		return
	}
	switch t := a.Type(); {
	case isScalar(t):
		d.add(p, changed, restart)
	case t.Kind() == reflect.Struct:
		d.section(p, a, b, restart)
	case t.Kind() == reflect.Map:
		d.entries(p, entriesOf(a), entriesOf(b), restart)
	case t.Kind() == reflect.Slice && a.Len()+b.Len() > 0:
		x, y := named(a), named(b)
		if x == nil || y == nil {
			d.add(p, changed, restart)
			return
		}
		before := len(d.found)
		d.entries(p, x, y, restart)
		if len(d.found) == before { // their order
			d.add(p, changed, restart)
		}
	case t.Kind() != reflect.Slice || a.IsNil() != b.IsNil(): // an empty list may be another thing than none
		d.add(p, changed, restart)
	}
}

func (d *differ) entries(p path, a, b map[string]reflect.Value, restart bool) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		x, before := a[name]
		y, after := b[name]
		switch {
		case !before:
			d.add(p.Key(name), added, restart)
		case !after:
			d.add(p.Key(name), removed, restart)
		default:
			d.value(p.Key(name), x, y, restart)
		}
	}
}

func entriesOf(m reflect.Value) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	for _, key := range m.MapKeys() {
		out[key.String()] = m.MapIndex(key)
	}
	return out
}

// named are the entries of a list by their names, nil if they have none, or two have the same.
func named(list reflect.Value) map[string]reflect.Value {
	elem := list.Type().Elem()
	if elem.Kind() != reflect.Struct || isScalar(elem) {
		return nil
	}
	fields := fieldsOf(elem)
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == "name" && f.typ.Kind() == reflect.String })
	if i < 0 {
		return nil
	}
	out := map[string]reflect.Value{}
	for n := range list.Len() {
		out[list.Index(n).FieldByIndex(fields[i].index).String()] = list.Index(n)
	}
	if len(out) < list.Len() {
		return nil
	}
	return out
}

// Digest stands for the file that the configuration was read from, byte for byte, as sha256sum
// prints it; "" if there was none. What comes from the environment is not in it.
func (c *Config) Digest() string { return c.src.digest }

// Blank reports whether the file says nothing at all, as one does that somebody is about to write, or could not.
func (c *Config) Blank() bool { return c.src.digest != "" && len(c.src.marks) == 0 }

// Files are those that the configuration names and whose content is a part of it, sorted.
func (c *Config) Files() []string {
	var out []string
	if c.Prices != "" {
		out = append(out, c.Prices)
	}
	for _, p := range c.Parsers {
		if p.ResponseTemplate != "" {
			out = append(out, p.ResponseTemplate)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
