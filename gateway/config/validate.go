package config

import (
	"cmp"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Validate checks the configuration as [Parse] does. It is for one that was
// changed afterwards, such as by a flag for Listen. The error is an [*Error].
func (c *Config) Validate() error {
	src := c.src
	if src != nil && c.Listen != src.listen {
		src = src.without("listen")
	}
	r := newReport(src)
	c.check(r)
	return r.err()
}

func (c *Config) check(r *report) {
	checkTags(r, "", reflect.ValueOf(c).Elem())
	c.checkListen(r)
	c.checkKeys(r)
	for _, name := range sortedKeys(c.Providers) {
		checkProvider(r, name, c.Providers[name])
	}
	c.checkModels(r)
	for _, name := range sortedKeys(c.Parsers) {
		checkCustomParser(r, name, c.Parsers[name])
	}
	checkPluginLimits(r, c.Plugins.Limits)
}

// checkTags checks what the tags of the fields say: required, enum, min and max.
func checkTags(r *report, p path, v reflect.Value) {
	switch {
	case isScalar(v.Type()):
	case v.Kind() == reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			checkField(r, p.key(f.name), v.Field(f.index), f)
			checkTags(r, p.key(f.name), v.Field(f.index))
		}
	case v.Kind() == reflect.Map:
		for _, key := range sortedMapKeys(v) {
			checkTags(r, p.key(key.String()), v.MapIndex(key))
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			checkTags(r, p.at(i), v.Index(i))
		}
	}
}

func checkField(r *report, p path, v reflect.Value, f field) {
	if f.required && (v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0) {
		r.add(p, "a value is required; write for example %s", example(f))
	}
	if len(f.enum) > 0 && (f.hasDef || !v.IsZero()) && !slices.Contains(f.enum, v.String()) {
		r.add(p, "%s is not one of the words allowed%s", r.src.show(p, v.String()), r.suggestFor(p, v.String(), "words", f.enum))
	}
	if f.min == "" {
		return
	}
	least, _ := parseInt(f.typ, f.min)
	most, _ := parseInt(f.typ, f.max)
	if n := v.Int(); n < least || n > most {
		r.add(p, "the value is out of range; it may be from %s to %s, for example %s", f.min, f.max, example(f))
	}
}

func (c *Config) checkListen(r *report) {
	const p = path("listen")
	host, port, err := net.SplitHostPort(c.Listen)
	if _, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil {
		r.add(p, "%s is not host:port; write for example 127.0.0.1:8080", r.src.show(p, c.Listen))
		return
	}
	if len(c.Keys) == 0 && !r.bad["keys"] && !isLoopback(host) {
		r.add(p, "listen on %s without keys would let anyone use your upstream keys; add keys: or listen on 127.0.0.1",
			r.src.show(p, c.Listen))
	}
}

// isLoopback reports whether only this machine can reach host. A name other than
// localhost may resolve to anything, and no host is every address.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

func (c *Config) checkKeys(r *report) {
	names, hashes := map[string]path{}, map[string]path{}
	for i, k := range c.Keys {
		p := path("keys").at(i)
		name, hash := p.key("name"), p.key("hash")
		if !isLabel(k.Name) {
			r.add(name, "a name has 1 to 64 printable characters")
		}
		if first, ok := names[k.Name]; ok && k.Name != "" {
			r.add(name, "the name is that of %s too; every key needs its own", first)
		}
		names[k.Name] = cmp.Or(names[k.Name], p)
		text := k.Hash.Reveal()
		switch first, repeated := hashes[text]; {
		case !isHash(text):
			r.add(hash, "the value is not the hash of a key: \"sha256:\" and 64 digits from 0-9 and a-f")
		case text == HashKey(""):
			r.add(hash, "this is the hash of an empty key; hash the key itself")
		case repeated:
			r.add(hash, "the hash is that of %s too; every key needs its own", first)
		}
		hashes[text] = cmp.Or(hashes[text], p)
	}
}

func isHash(text string) bool {
	digits, ok := strings.CutPrefix(text, hashPrefix)
	return ok && len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}

// isLabel reports whether text can stand in a line of a log.
func isLabel(text string) bool {
	return text != "" && len(text) <= 64 && !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) })
}

func checkPluginLimits(r *report, l PluginLimits) {
	const p = path("plugins.limits")
	if l.Time > l.Total {
		r.add(p.key("time"), "the time of one call, %s, is more than the total, %s; raise total", l.Time, l.Total)
	}
}
