package responsetemplate

import (
	"bytes"

	"github.com/callgate/callgate/sdk/relaxed"
)

// jsonText reads JSON in a region as it comes, to know whether a closing marker
// lies inside a string and where a value without closing marker ends. Strings may
// stand between a template's own delimiters; nothing is escaped in those.
type jsonText struct {
	r        *relaxed.Reader
	delims   []string
	pos      int    // up to where the text was read
	within   string // the delimiter or quote of the open string
	escaped  bool   // in a quoted string, behind a backslash
	complete bool   // the value is complete
	end      int    // where it ended
	bad      bool   // what is at pos cannot be read
	scratch  []byte
}

func newJSONText(c *content, pos, maxDepth int) *jsonText {
	return &jsonText{r: relaxed.NewReader(maxDepth), delims: c.delims, pos: pos}
}

// advance reads up to the place to. The first byte of b is at place off. final
// says that the JSON has no more text.
func (j *jsonText) advance(b []byte, off, to int, final bool) {
	for !j.bad && j.pos < to {
		rest := b[j.pos-off : to-off]
		if j.complete {
			n := space(rest, 0)
			j.pos += n
			j.bad = n < len(rest)
			return
		}
		n := j.read(rest, final)
		if n == 0 {
			return // it may become a delimiter
		}
		j.pos += n
	}
	if final && !j.bad && !j.complete && j.r.Depth() == 0 && j.within == "" {
		tok := j.r.End()
		j.complete = tok == relaxed.Number || tok == relaxed.Done
		j.end = j.pos
	}
}

// ok reports whether all of the text is one value.
func (j *jsonText) ok() bool { return j.complete && !j.bad }

// feed gives the reader text and says how much of it was read. A value ends and a
// mistake is found within it, at the same place however the text comes.
func (j *jsonText) feed(src []byte) (n int) {
	for n < len(src) && !j.bad && !j.complete {
		read := j.r.Feed
		if j.r.Depth() > 0 {
			read = func(src []byte) (int, relaxed.Token) { return j.r.FeedTo(src, 0) }
		}
		size, tok := read(src[n:])
		n += size
		j.bad = tok == relaxed.Bad
		j.complete = !j.bad && tok != relaxed.More && j.r.Depth() == 0
		j.end = j.pos + n
	}
	return n
}

// read reads a piece and says how much of it.
func (j *jsonText) read(src []byte, final bool) int {
	switch {
	case len(j.delims) == 0:
		return j.feed(src)
	case j.within == "":
		return j.outside(src, final)
	case j.within == `"` || j.within == `'`:
		return j.quoted(src)
	}
	return j.delimited(src, final)
}

// delimited reads to the end of a string between delimiters.
func (j *jsonText) delimited(src []byte, final bool) int {
	n := bytes.Index(src, []byte(j.within))
	closed := n >= 0
	if !closed {
		if n = len(src); !final {
			n -= overlap(src, j.within)
		}
	}
	j.scratch = relaxed.AppendEscaped(j.scratch[:0], src[:n])
	if closed {
		n += len(j.within)
		j.scratch = append(j.scratch, '"')
		j.within = ""
	}
	j.feed(j.scratch)
	if j.complete {
		j.end = j.pos + n
	}
	return n
}

// outside reads up to the next string.
func (j *jsonText) outside(src []byte, final bool) int {
	for i, c := range src {
		for _, d := range j.delims {
			switch {
			case bytes.HasPrefix(src[i:], []byte(d)) && i > 0:
				return j.feed(src[:i])
			case bytes.HasPrefix(src, []byte(d)) && i == 0:
				j.feed([]byte{'"'})
				if j.bad {
					return 0
				}
				j.within = d
				return len(d)
			case !final && len(src)-i < len(d) && d[:len(src)-i] == string(src[i:]):
				return j.feed(src[:i])
			}
		}
		if c == '"' || c == '\'' {
			n := j.feed(src[:i+1])
			if n == i+1 && !j.bad {
				j.within = string(c)
			}
			return n
		}
	}
	return j.feed(src)
}

// quoted reads to the end of a string in quotes.
func (j *jsonText) quoted(src []byte) int {
	for i, c := range src {
		switch {
		case j.escaped:
			j.escaped = false
		case c == '\\':
			j.escaped = true
		case c == j.within[0]:
			j.within = ""
			return j.feed(src[:i+1])
		}
	}
	return j.feed(src)
}

// overlap is how many of the last bytes of b may begin marker.
func overlap(b []byte, marker string) int {
	for n := min(len(b), len(marker)-1); n > 0; n-- {
		if string(b[len(b)-n:]) == marker[:n] {
			return n
		}
	}
	return 0
}
