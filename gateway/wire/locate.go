package wire

import "strconv"

// cursor is a place in JSON text. What it passes over it looks at once.
type cursor struct {
	b   []byte
	i   int
	key int // where the key of the member at hand begins
}

// each calls f for each part of the object or array at the cursor, which opens with this
// bracket: for a member, of which the cursor stands at the value then, or for the nth
// element. f takes the value, or leaves the cursor where it is to have it passed over. ok is
// false where the text is no such thing, and where f ends it early by returning false.
func (c *cursor) each(opens byte, f func(n int, key []byte) bool) (ok bool) {
	if c.i = space(c.b, c.i); c.i >= len(c.b) || c.b[c.i] != opens {
		return false
	}
	c.i = space(c.b, c.i+1)
	for n := 0; c.i < len(c.b) && c.b[c.i] != opens+2; n++ { // '}' or ']'
		var key []byte
		if opens == '{' {
			if key = c.member(); key == nil {
				return false
			}
		}
		at := c.i
		if !f(n, key) || c.i == at && c.value().Empty() {
			return false
		}
		if c.i = space(c.b, c.i); c.i < len(c.b) && c.b[c.i] == ',' {
			c.i = space(c.b, c.i+1)
		}
	}
	if c.i >= len(c.b) {
		return false
	}
	c.i++
	return true
}

// member passes over the key at the cursor, and returns what is between its quotes, nil where
// there is none.
func (c *cursor) member() []byte {
	if c.b[c.i] != '"' {
		return nil
	}
	end := keyEnd(c.b, c.i)
	if end < 0 {
		return nil
	}
	c.key = c.i
	if c.i = space(c.b, end); c.i >= len(c.b) || c.b[c.i] != ':' {
		return nil
	}
	c.i = space(c.b, c.i+1)
	return c.b[c.key+1 : end-1]
}

// value passes over the value at the cursor, and returns its place; an empty one where
// there is none.
func (c *cursor) value() Span {
	v, ok := Value(c.b, c.i)
	if !ok {
		return Span{}
	}
	c.i = v.End
	return v
}

// keyEnd is stringEnd for a short string.
func keyEnd(b []byte, i int) int {
	for j := i + 1; j < len(b); j++ {
		switch b[j] {
		case '"':
			return j + 1
		case '\\':
			return stringEnd(b, i)
		}
	}
	return -1
}

// table is what a frame holds, by its places.
type table struct {
	ok      bool // it is a chunk or a completion
	choices []Choice
	list    Span // the array of the choices
	usage   Span
	inner   Span // a usage in another place: in a choice, or in x_groq
	failure Span // an error in the place of a chunk
}

// locate fills the table in one descent. whole says that the data is a completion.
func (t *table) locate(data []byte, whole bool) {
	*t = table{choices: t.choices[:0]}
	c := cursor{b: data}
	list, bare := false, false
	ok := c.each('{', func(_ int, key []byte) bool {
		switch string(key) {
		case "choices":
			from := c.i
			if list = t.locateChoices(&c, whole); !list { // it is passed over like any other value
				c.i = from
				t.list = c.value()
				break
			}
			t.list = Span{from, c.i}
		case "usage":
			t.usage = c.value()
		case "error":
			t.failure = c.value()
		case "object":
			bare = string(c.value().Of(data)) == `"error"`
		case "x_groq":
			if v := c.value(); !v.Empty() && c.b[v.Start] == '{' {
				t.inner = Find(c.b, v, "usage")
			}
		}
		return true
	})
	t.settle(data, ok, list, bare)
}

// settle decides what the data is: a chunk, an error or neither. bare says that it calls itself an
// error: {"object":"error","message":…}, as vLLM and FastChat write it.
func (t *table) settle(data []byte, ok, list, bare bool) {
	if !ok || isNoError(t.failure.Of(data)) {
		t.failure = Span{}
	}
	if ok && bare && !list && t.failure.Empty() {
		t.failure = Span{0, len(data)}
	}
	t.ok = ok && list && t.failure.Empty()
	if !t.ok {
		t.choices = t.choices[:0]
	}
}

// isNoError reports whether the value of an error says nothing: some servers write an empty one
// beside every answer.
func isNoError(v []byte) bool {
	return len(v) <= 2 || v[0] != '"' && (v[0] != '{' || Blank(v[1:len(v)-1]))
}

// locateChoices reads the array of choices at the cursor. ok is false where it is none, or
// has more than MaxChoices.
func (t *table) locateChoices(c *cursor, whole bool) (ok bool) {
	t.choices = t.choices[:0]
	body := "delta"
	if whole {
		body = "message"
	}
	return c.each('[', func(n int, _ []byte) bool {
		t.choices = append(t.choices, Choice{Index: n})
		p := &t.choices[n]
		from := c.i
		if !c.each('{', func(_ int, key []byte) bool {
			switch string(key) {
			case "index":
				p.Index = number(c.value().Of(c.b), n)
			case "finish_reason":
				p.Finish = c.value()
				p.Reason = reasonOf(p.Finish.Of(c.b))
			case body:
				p.locateBody(c)
			case "usage": // Moonshot's
				t.inner = c.value()
			}
			return true
		}) {
			c.i = from
			c.value()
		}
		p.Object = Span{from, c.i}
		return n < MaxChoices && p.Index < MaxChoices
	})
}

// locateBody reads the delta or message at the cursor.
func (p *Choice) locateBody(c *cursor) {
	from := c.i
	*p = Choice{Index: p.Index, Finish: p.Finish, Reason: p.Reason}
	if !c.each('{', func(_ int, key []byte) bool {
		v := c.value()
		if !v.Empty() {
			p.locateMember(c.b, key, v)
		}
		return !v.Empty()
	}) {
		c.i = from
		c.value()
	}
	p.Body, p.Says = Span{from, c.i}, p.SaysText || p.calls || p.beside
}

// locateMember takes note of a member of the body.
func (p *Choice) locateMember(data, key []byte, v Span) {
	value := v.Of(data)
	said, filled := says(value), value[0] != 'n' && len(value) > len(`""`)
	switch string(key) {
	case "role":
		return
	case "content":
		p.Content, p.SaysText = v, said
		return
	case "tool_calls":
		p.Calls, p.calls = v, said
		return
	case "reasoning_content", "reasoning", "reasoning_text": // as [IsReasoning]
		p.Thinks = p.Thinks || filled
		if p.Reasoning.IsNull(data) || said {
			p.Reasoning = v
		}
	case "function_call", "annotations", "citations", "executed_tools":
		p.Acts = p.Acts || filled
	}
	p.beside = p.beside || said
}

// number reads a small index, which is otherwise the place in the list.
func number(b []byte, otherwise int) int {
	if len(b) == 1 && b[0] >= '0' && b[0] <= '9' {
		return int(b[0] - '0')
	}
	if n, err := strconv.Atoi(string(b)); err == nil && n >= 0 {
		return n
	}
	return otherwise
}

// reasonOf is a finish reason, or "".
func reasonOf(v []byte) string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	switch string(v) { // those that need no memory
	case `"stop"`:
		return "stop"
	case `"tool_calls"`:
		return "tool_calls"
	case `"length"`:
		return "length"
	}
	return string(v[1 : len(v)-1])
}

// says reports whether the value of a member of a delta or message says anything: a string
// with more than white space, a list or an object with something in it, true.
func says(value []byte) bool {
	if len(value) < 2 {
		return false
	}
	switch value[0] {
	case '"':
		return !blankText(value[1 : len(value)-1])
	case '[', '{':
		return !Blank(value[1 : len(value)-1])
	}
	return string(value) == "true"
}

// blankText reports whether the text of a JSON string, with its escapes, is white space, if
// anything.
func blankText(text []byte) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t':
		case '\\':
			if i+1 >= len(text) || text[i+1] != 'n' && text[i+1] != 'r' && text[i+1] != 't' {
				return false
			}
			i++
		default:
			return false
		}
	}
	return true
}
