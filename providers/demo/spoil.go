package demo

import (
	"strconv"
	"strings"
	"unicode"
)

// spoilingModels are those whose calls are wrong. Their answers without calls are
// those of native.
func spoilingModels() []model {
	all := []model{
		{name: "broken_args", spoil: eachCall(func(_ int, c *wireCall) { c.args = broken(c.args) })},
		{name: "wrong_index", wish: wish{two: true}, spoil: eachCall(func(i int, c *wireCall) {
			c.index, c.id = new(int), "functions."+c.name+":"+strconv.Itoa(i)
		})},
		{name: "no_index", spoil: eachCall(func(_ int, c *wireCall) { c.index = nil })},
		{name: "missing_id", spoil: eachCall(func(_ int, c *wireCall) { c.id = "" })},
		{name: "empty_args", spoil: eachCall(func(_ int, c *wireCall) {
			if c.args == "{}" {
				c.args = ""
			}
		})},
		{name: "encoded_args", spoil: eachCall(func(_ int, c *wireCall) { c.args = quote(c.args) })},
		{name: "object_args", spoil: eachCall(func(_ int, c *wireCall) { c.object = true })},
		{name: "concatenated", wish: wish{two: true, same: true}, spoil: concatenate},
		{name: "wrong_types", wish: wish{scalars: true}, spoil: quoteScalars},
		{name: "wrong_name", spoil: eachCall(func(i int, c *wireCall) { c.name = misspelt(c.name, i) })},
		{name: "unknown_name", spoil: callUnknown},
		{name: "irreparable", spoil: cutArguments},
		{name: "stop_reason", spoil: func(w *writer, _ *request) { w.finish = "stop" }},
		{name: "malformed", spoil: func(w *writer, _ *request) {
			w.out, w.calls, w.finish = output{}, nil, "malformed_function_call"
		}},
	}
	for i := range all {
		all[i].write = native
	}
	return all
}

// eachCall spoils each call by itself.
func eachCall(spoil func(int, *wireCall)) func(*writer, *request) {
	return func(w *writer, _ *request) {
		for i := range w.calls {
			spoil(i, &w.calls[i])
		}
	}
}

// concatenate puts the arguments of all calls into the first one.
func concatenate(w *writer, _ *request) {
	for _, c := range w.calls[1:] {
		w.calls[0].args += c.args
	}
	w.calls = w.calls[:1]
}

// quoteScalars makes strings of numbers and truth values.
func quoteScalars(w *writer, _ *request) {
	for i, c := range w.out.calls {
		args := make([]arg, len(c.args))
		for j, a := range c.args {
			if strings.ContainsAny(a.value[:1], "-0123456789tf") {
				a.value = quote(a.value)
			}
			args[j] = a
		}
		w.calls[i].args = objectJSON(args)
	}
}

// callUnknown calls a tool that nobody offered.
func callUnknown(w *writer, r *request) {
	offered := map[string]bool{}
	for _, t := range r.Tools.list {
		offered[t.Function.Name] = true
	}
	name := "search_the_web"
	for offered[name] {
		name += "_more"
	}
	for i := range w.calls {
		w.calls[i].name = name
	}
}

// cutArguments leaves half of the last call's arguments, as a model does that runs
// out of tokens.
func cutArguments(w *writer, _ *request) {
	c := &w.calls[len(w.calls)-1]
	text := []rune(c.args)
	c.args = string(text[:len(text)/2])
}

// misspelt is a name as GetWeather or get-weather, in turn; the other one if that is
// the name itself.
func misspelt(name string, turn int) string {
	words := nameWords(name)
	if len(words) == 0 {
		return name
	}
	kebab := strings.ToLower(strings.Join(words, "-"))
	for i, word := range words {
		first := []rune(word)
		first[0] = unicode.ToUpper(first[0])
		words[i] = string(first)
	}
	forms := [2]string{strings.Join(words, ""), kebab}
	if form := forms[turn%2]; form != name {
		return form
	}
	return forms[(turn+1)%2]
}

// nameWords are the words of a name: get and weather in get_weather, getWeather.
func nameWords(name string) []string {
	var spaced strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
		before = r
	}
	return strings.FieldsFunc(spaced.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
