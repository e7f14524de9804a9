package config

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// YAML returns the effective configuration: what the file said, with variables
// expanded, every default filled in and secrets as "[redacted]". A secret that
// is not set is left out, and so is a number that is not set or has no effect.
func (c *Config) YAML() []byte {
	var b bytes.Buffer
	printSection(&b, reflect.ValueOf(c.effective()).Elem(), 0)
	return b.Bytes()
}

// effective returns a copy in which providers and targets say what
// [Config.Targets] makes of them, models what [Config.Route] does, and nothing is left
// that has no effect.
func (c *Config) effective() *Config {
	out := *c
	if !c.AdminGiven() && c.sameAddress() {
		out.Admin.Listen = Off
	}
	out.Providers = c.effectiveProviders()
	out.Defaults = c.fill(c.Defaults).printable()
	out.Models = maps.Clone(c.Models)
	for name, m := range out.Models {
		out.Models[name] = c.effectiveModel(m)
	}
	out.Rollouts = c.effectiveRollouts()
	return &out
}

func (c *Config) effectiveProviders() map[string]Provider {
	out := maps.Clone(c.Providers)
	for name, p := range out {
		r := c.resolve(Target{Provider: name})
		p.Parser, p.Reasoning, p.ToolInReasoning = r.Parser, r.Reasoning, r.ToolInReasoning
		p.Tools, p.ToolCalls = r.Tools, r.ToolCalls
		p.ResponseFormat, p.StructuredOutput, p.OnInvalidOutput = r.ResponseFormat, r.StructuredOutput, r.OnInvalidOutput
		p.OnInvalidCall, p.EmptyCompletion, p.History = r.OnInvalidCall, r.EmptyCompletion, r.History
		p.DoubtfulCall = r.DoubtfulCall
		p.PromptCacheHints = c.Hints(name)
		p.Timeouts.Total = min(p.Timeouts.Total, c.Timeout)
		out[name] = p
	}
	return out
}

func (c *Config) effectiveModel(m Model) Model {
	if m.Alias != "" {
		return m // it has nothing else
	}
	m.Targets, m.Rules = c.effectiveTargets(m.Targets), slices.Clone(m.Rules)
	for i := range m.Rules {
		m.Rules[i].Targets = c.effectiveTargets(m.Rules[i].Targets)
	}
	m.Route = c.fill(m.Route).printable()
	return m
}

func (c *Config) effectiveTargets(own []Target) []Target {
	out := make([]Target, len(own))
	for i, t := range own {
		out[i] = c.resolve(t).Target
	}
	return out
}

func printSection(b *bytes.Buffer, v reflect.Value, indent int) {
	for _, f := range fieldsOf(v.Type()) {
		fv := v.FieldByIndex(f.index)
		if s, ok := fv.Interface().(Secret); ok && s.IsZero() || f.isUnset(fv) || f.omit && fv.IsZero() {
			continue
		}
		if m, ok := v.Interface().(Model); ok && m.Alias != "" && f.name != "alias" {
			continue
		}
		b.WriteString(strings.Repeat("  ", indent) + f.name + ":")
		printValue(b, fv, indent+1)
	}
}

// printValue writes what follows a key and its colon, with the newline.
func printValue(b *bytes.Buffer, v reflect.Value, indent int) {
	switch {
	case v.Kind() == reflect.Slice && !isWordList(v.Type()):
		printList(b, v, indent)
	case v.Kind() == reflect.Map:
		printTable(b, v, indent)
	case v.Kind() == reflect.Struct && !isScalar(v.Type()):
		b.WriteByte('\n')
		printSection(b, v, indent)
	default:
		b.WriteString(" " + scalars[v.Type()].text(v) + "\n")
	}
}

// printList writes a list one level in. The dash takes the place of the first
// element's indentation.
func printList(b *bytes.Buffer, v reflect.Value, indent int) {
	if v.Len() == 0 {
		b.WriteString(" []\n")
		return
	}
	b.WriteByte('\n')
	for i := range v.Len() {
		b.WriteString(strings.Repeat("  ", indent) + "- ")
		item := v.Index(i)
		if item.Kind() != reflect.Struct || isScalar(item.Type()) {
			b.WriteString(scalars[item.Type()].text(item) + "\n")
			continue
		}
		var section bytes.Buffer
		printSection(&section, item, indent+1)
		b.Write(bytes.TrimLeft(section.Bytes(), " "))
	}
}

func printTable(b *bytes.Buffer, v reflect.Value, indent int) {
	if v.Len() == 0 {
		b.WriteString(" {}\n")
		return
	}
	b.WriteByte('\n')
	for _, key := range sortedMapKeys(v) {
		b.WriteString(strings.Repeat("  ", indent) + quoteYAML(key.String()) + ":")
		printValue(b, v.MapIndex(key), indent+1)
	}
}

func sortedMapKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
	return keys
}

// quoteYAML puts text in quotes unless it is plainly a word, path or URL that
// YAML takes for nothing else. What Go escapes, YAML reads the same.
func quoteYAML(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "y", "n":
		return strconv.Quote(text)
	}
	if text == "" || !isPlainStart(text[0]) || strings.HasSuffix(text, ":") {
		return strconv.Quote(text)
	}
	for i := range len(text) {
		if !isNameByte(text[i]) && !strings.ContainsRune("./:-", rune(text[i])) {
			return strconv.Quote(text)
		}
	}
	return text
}

func isPlainStart(c byte) bool { return isNameByte(c) && (c < '0' || c > '9') || c == '/' }
