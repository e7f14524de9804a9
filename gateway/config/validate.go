package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/callgate/callgate/internal/digest"
)

// Validate checks the configuration as [Parse] does. It is for one that was
// changed afterwards, such as by a flag for Listen or Admin.Listen. The error is an [*Error].
func (c *Config) Validate() error {
	src := c.src
	if src != nil && c.Listen != src.listen {
		src = src.without("listen")
	}
	if src != nil && c.Admin.Listen != src.admin {
		src = src.without("admin.listen")
	}
	r := newReport(src)
	c.check(r)
	return r.err()
}

func (c *Config) check(r *report) {
	checkTags(r, "", reflect.ValueOf(c).Elem())
	c.checkListen(r)
	c.checkShutdown(r)
	c.checkKeys(r)
	c.checkAdmin(r)
	c.checkOIDC(r)
	checkTracing(r, c.Tracing)
	c.checkRedis(r)
	c.checkStore(r)
	c.checkUsage(r)
	if l := c.Limits; l.Uploads > 0 && l.Uploads < 2*l.Upload {
		r.add(path("limits").Key("uploads"), "one upload may have half of the room for all, and upload is %s; raise this to twice that, or lower upload", l.Upload)
	}
	checkLog(r, c.Log)
	for _, name := range sortedKeys(c.Providers) {
		checkProvider(r, name, c.Providers[name])
		c.checkTotal(r, name)
	}
	c.checkPassthrough(r)
	c.checkModels(r)
	c.checkRoutes(r)
	c.checkAnswers(r)
	c.checkRollouts(r)
	c.visitTargets(func(p path, own Target) { c.checkPrompted(r, p, own) })
	for _, name := range sortedKeys(c.Parsers) {
		checkCustomParser(r, name, c.Parsers[name])
	}
	checkPlugins(r, c.Plugins)
	for _, name := range sortedKeys(c.ToolServers) {
		c.checkToolServer(r, name)
	}
	c.checkKeyTools(r)
	c.checkTeams(r)
	c.checkOrigins(r)
	c.checkLimits(r)
}

// checkTags checks what the tags of the fields say: required, enum, min and max.
func checkTags(r *report, p path, v reflect.Value) {
	switch {
	case isScalar(v.Type()):
	case v.Kind() == reflect.Struct:
		fields := fieldsOf(v.Type())
		for _, f := range fields {
			if i := slices.IndexFunc(fields, func(other field) bool { return other.name == f.instead }); i >= 0 {
				f.required = v.FieldByIndex(fields[i].index).IsZero()
			}
			checkField(r, p.Key(f.name), v.FieldByIndex(f.index), f)
			checkTags(r, p.Key(f.name), v.FieldByIndex(f.index))
		}
	case v.Kind() == reflect.Map:
		for _, key := range sortedMapKeys(v) {
			checkTags(r, p.Key(key.String()), v.MapIndex(key))
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			checkTags(r, p.At(i), v.Index(i))
		}
	}
}

func checkField(r *report, p path, v reflect.Value, f field) {
	if f.required && (v.IsZero() && !r.hasBad(p) || v.Kind() == reflect.Slice && v.Len() == 0) {
		r.add(p, "a value is required; write for example %s", example(f))
	}
	if len(f.enum) > 0 && (f.hasDef || !v.IsZero()) && !slices.Contains(f.enum, v.String()) {
		hint := r.suggest(p, v.String(), "words", f.enum)
		if f.other != "" {
			hint += "; " + f.other
		}
		r.add(p, "%s is not one of the words allowed%s", r.src.show(p, v.String()), hint)
	}
	if f.min == "" || f.isUnset(v) && !r.written(p) {
		return
	}
	if !f.inRange(v) {
		r.add(p, "%s is out of range; it may be from %s to %s, for example %s", r.src.number(p, v), f.min, f.max, example(f))
	}
}

// checkShutdown refuses a delay that the end cuts short. One that nobody wrote is no promise.
func (c *Config) checkShutdown(r *report) {
	const p = path("shutdown_delay")
	if r.written(p) && c.ShutdownDelay > c.ShutdownTimeout && !r.isBad("shutdown_timeout") {
		r.add(p, "a delay of %s would end with shutdown_timeout, %s; raise that, or lower this", c.ShutdownDelay, c.ShutdownTimeout)
	}
}

func (c *Config) checkKeys(r *report) {
	names, hashes := map[string]path{}, map[string]path{}
	for i, k := range c.Keys {
		p := path("keys").At(i)
		name, hash := p.Key("name"), p.Key("hash")
		if !isLabel(k.Name) {
			r.add(name, "%s is not a name: one has 1 to 64 printable characters, and no space at its ends", r.src.show(name, k.Name))
		}
		if first, ok := names[k.Name]; ok && k.Name != "" {
			r.add(name, "the name is that of %s too; every key needs its own", first)
		}
		names[k.Name] = cmp.Or(names[k.Name], p)
		distinct := func(at path, h Secret) {
			checkHash(r, at, h)
			if first, repeated := hashes[h.Reveal()]; repeated {
				r.add(at, "the hash is that of %s too; every key needs its own", first)
			}
			hashes[h.Reveal()] = cmp.Or(hashes[h.Reveal()], p)
		}
		distinct(hash, k.Hash)
		for n, old := range k.Previous {
			distinct(p.Key("previous").At(n).Key("hash"), old.Hash)
		}
	}
}

func checkHash(r *report, p path, hash Secret) {
	switch text := hash.Reveal(); {
	case strings.HasPrefix(text, "cg-"):
		r.add(p, "the value is a key itself, not its hash; write the hash of a new key, as callgate key prints it")
	case !isHash(text):
		r.add(p, "the value is not the hash of a key: \"sha256:\" and 64 digits from 0-9 and a-f, as callgate key prints them")
	case text == HashKey(""):
		r.add(p, "this is the hash of an empty key; hash the key itself")
	}
}

func isHash(text string) bool {
	_, ok := digest.Parse(text)
	return ok
}

// isLabel reports whether text can stand in a line of a log.
func isLabel(text string) bool {
	return text != "" && len(text) <= 64 && !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) })
}

func checkTracing(r *report, t Tracing) {
	const p = path("tracing")
	if t.Endpoint != "" {
		checkURL(r, p.Key("endpoint"), t.Endpoint, "http://127.0.0.1:4318", "headers")
	}
	checkHeaders(r, p.Key("headers"), t.Headers, nil)
}

func checkPluginLimits(r *report, l PluginLimits) {
	const p = path("plugins.limits")
	if l.Time > l.Total {
		r.add(p.Key("time"), "the time of one call, %s, is more than the total, %s; raise total", l.Time, l.Total)
	}
}

// checkLog checks that the lines which a trace is made of are written at all.
func checkLog(r *report, l Log) {
	const p = path("log.prefix")
	if !l.Prefix {
		return
	}
	if l.Level != "debug" && l.Level != "info" {
		r.add(p, "requests are logged at the level info, and log.level is %s; set it to info, or leave log.prefix out", l.Level)
	}
	if l.Format == "text" {
		r.add(p, "callgate export-trace reads JSON, and log.format is %s; set it to json, or leave log.prefix out", l.Format)
	}
}
