package wire

import "bytes"

// Shape is what the chunks of a stream have in common: upstreams send the same one again
// and again, but for the text in it. So it is located once, and a chunk that begins and
// ends as the one before did is compared and not read. It serves the frames of
// one stream; its zero value is that of which nothing has come.
type Shape struct {
	before, after []byte // the text, with its quotes
	hole          Span   // of the text with its quotes, in the chunk that was learned
	size          int    // of that chunk
	choice        Choice
	table         table
	kind          hole
	number        int // of the shape; 0: there is none
	made          int // shapes so far
	misses        int // chunks in a row that had another one
}

// hole is what the text of a shape is.
type hole uint8

const (
	contentHole hole = iota
	reasoningHole
	argumentsHole
)

const (
	// maxShape is how long a shape may be. Those of upstreams have some 200 bytes.
	maxShape = 4 << 10
	// maxMisses is after how many chunks, each of another shape than the one before, no
	// more is learned: something in them changes with every one.
	maxMisses = 32
)

// Read makes frame the frame of a block of the stream, which was read into raw and data.
func (s *Shape) Read(frame *Frame, raw, data []byte) {
	frame.Raw, frame.Data, frame.Whole, frame.Done, frame.More = raw, data, false, false, false
	frame.shape, frame.looked, frame.extra = s, false, false
	frame.changes = frame.changes[:0]
}

// matches reports whether a frame has the shape, and fills in what it holds.
func (s *Shape) matches(f *Frame) bool {
	if s.number == 0 || len(f.Data) < len(s.before)+len(s.after) || !bytes.HasPrefix(f.Data, s.before) || !bytes.HasSuffix(f.Data, s.after) {
		return false
	}
	text := f.Data[len(s.before) : len(f.Data)-len(s.after)]
	if !InString(text) {
		return false
	}
	s.misses = 0
	by := len(f.Data) - s.size
	f.choices = append(f.choices[:0], s.choice)
	t, c := s.table, &f.choices[0]
	t.choices = f.choices
	t.list, t.usage = t.list.behind(s.hole, by), t.usage.behind(s.hole, by)
	c.Object, c.Body = c.Object.behind(s.hole, by), c.Body.behind(s.hole, by)
	c.Content, c.Reasoning, c.Calls, c.Finish = c.Content.behind(s.hole, by), c.Reasoning.behind(s.hole, by), c.Calls.behind(s.hole, by), c.Finish.behind(s.hole, by)
	switch s.kind {
	case contentHole:
		c.SaysText = !blankText(text)
	case reasoningHole:
		c.Thinks = len(text) > 0
		c.beside = c.beside || !blankText(text)
	}
	c.Says = c.SaysText || c.calls || c.beside
	f.table = t
	return true
}

// InString reports whether b is what stands between the quotes of a JSON string.
func InString(b []byte) bool {
	if bytes.IndexByte(b, '\\') < 0 {
		return bytes.IndexByte(b, '"') < 0
	}
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			return false
		case '\\':
			i++
			if i == len(b) {
				return false
			}
		}
	}
	return true
}

// behind is the place of what stood at s when the text at hole is longer by so many bytes.
func (s Span) behind(hole Span, by int) Span {
	if s.Start >= hole.End {
		s.Start += by
	}
	if s.End >= hole.End {
		s.End += by
	}
	return s
}

// learn takes note of the shape of a frame that was located.
func (s *Shape) learn(f *Frame) {
	s.number = 0
	if s.misses > maxMisses || !f.ok || len(f.choices) != 1 || !f.inner.Empty() || !f.usage.IsNull(f.Data) {
		return
	}
	c := f.choices[0]
	kind, at := c.hole(f.Data)
	if at.Empty() || c.Reason != "" || len(f.Data)-(at.End-at.Start) > maxShape {
		return
	}
	s.misses++
	s.made++
	s.number, s.kind, s.hole, s.size, s.table = s.made, kind, at, len(f.Data), f.table
	s.table.choices = nil
	s.before = append(s.before[:0], f.Data[:at.Start+1]...)
	s.after = append(s.after[:0], f.Data[at.End-1:]...)
	if kind == reasoningHole {
		c.beside = c.saysWithout(f.Data, at)
	}
	s.choice = c
}

// hole finds the one string of a choice that goes on from chunk to chunk.
func (c *Choice) hole(data []byte) (hole, Span) {
	isString := func(v Span) bool { return !v.Empty() && data[v.Start] == '"' }
	switch {
	case !c.Calls.IsNull(data):
		return argumentsHole, onlyArguments(data, c.Calls)
	case isString(c.Content) && (c.Reasoning.IsNull(data) || c.Content.End-c.Content.Start > len(`""`)):
		return contentHole, c.Content
	case isString(c.Reasoning):
		return reasoningHole, c.Reasoning
	}
	return contentHole, Span{}
}

// onlyArguments is the place of the arguments in an array of tool_calls that has one entry.
func onlyArguments(data []byte, calls Span) (at Span) {
	entries := 0
	Elements(data[:calls.End], calls.Start, func(_ int, entry Span) bool {
		entries++
		if function := Find(data, entry, "function"); !function.Empty() && data[function.Start] == '{' {
			at = Find(data, function, "arguments")
		}
		return entries < 2
	})
	if entries != 1 || at.Empty() || data[at.Start] != '"' {
		return Span{}
	}
	return at
}

// saysWithout reports whether the choice says anything besides its text, its calls and the
// string at hole.
func (c *Choice) saysWithout(data []byte, hole Span) bool {
	said := false
	Members(data[:c.Body.End], c.Body.Start, func(key []byte, v Span) bool {
		name := string(key)
		said = name != "role" && name != "content" && name != "tool_calls" && v != hole && says(v.Of(data))
		return !said
	})
	return said
}
