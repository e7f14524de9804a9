package repair

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// mostObjects is how many objects one call's arguments may hold. Models that write
// several calls into one write a few.
const mostObjects = 64

// JSON repairs whole arguments by the rules of [Args]. If nothing is wrong or there is
// a problem, fixed is text itself and there are no repairs. Several objects that
// differ are a problem here. maxDepth is as for [Args.Begin].
func JSON(text []byte, maxDepth int) (fixed []byte, repairs []string, problem *Problem) {
	a := Args{maxDepth: depthOr(maxDepth), raw: slices.Clip(text)}
	out := a.advance()
	rest, extra, problem := a.End()
	switch {
	case problem != nil:
		return text, nil, problem
	case len(extra) > 0:
		return text, nil, &Problem{
			Class: InvalidJSON, Message: "The arguments are several JSON objects, one behind the other.",
			Hint: "Give one object, and make several calls if several are meant.",
		}
	case a.Same():
		return text, nil, nil
	}
	return a.joint.of(out, rest), a.Repairs(), nil
}

// decode reads the object that the arguments hold in a string.
func (a *Args) decode() (out []byte, extra [][]byte, problem *Problem) {
	strict, kind, ok := relaxed.Value(a.raw, a.maxDepth)
	if !ok || kind != relaxed.String {
		return nil, nil, invalid(atByte(0, ""), "the string is not valid.", hintStrict)
	}
	quoted, ok := relaxed.Unquote(strict)
	if !bytes.Equal(strict, bytes.Trim(a.raw, " \t\r\n")) {
		a.kinds |= repairedJSON
	}
	if !ok {
		return nil, nil, a.problem
	}
	if a.inner == nil {
		a.inner = new(Args)
	}
	a.inner.Begin(a.tool, a.shape, a.maxDepth)
	a.inner.decoded = true
	out = slices.Clone(a.inner.Feed(quoted))
	rest, extra, problem := a.inner.End()
	if problem != nil {
		p := *problem
		p.Message = strings.Replace(p.Message, "The arguments", "The arguments, decoded from a string,", 1)
		return nil, nil, &p
	}
	a.kinds |= repairedEncoding | a.inner.repaired()
	return append(out, rest...), extra, nil
}

// split reads the objects behind the first, and leaves out those that were there already.
func (a *Args) split() (extra [][]byte, problem *Problem) {
	if a.next == nil {
		a.next = new(object)
	}
	read := func(i int) (text []byte) {
		if a.raw[i] != '{' {
			problem = invalid(atByte(i, ""), "text follows the arguments.", hintStrict)
			return nil
		}
		a.next.begin(a.tool, a.shape, a.maxDepth, i, i)
		text = slices.Clone(a.next.read(a.raw))
		a.next.end(a.raw)
		problem = a.next.walk().fault
		return text
	}
	seen := map[string]bool{compact(read(a.object.start)): true}
	for i := a.object.walk().at; ; i = a.next.walk().at {
		i += len(a.raw[i:]) - len(chars.SkipSpace(a.raw[i:]))
		if i == len(a.raw) {
			break
		}
		text := read(i)
		if problem != nil {
			return nil, problem
		}
		a.kinds |= a.next.repaired()
		key := compact(text)
		if seen[key] {
			a.kinds |= repairedRepeated
			continue
		}
		if seen[key] = true; len(seen) > mostObjects {
			return nil, invalid(atByte(a.next.walk().at, ""), "more than "+strconv.Itoa(mostObjects)+" objects follow each other.", hintStrict)
		}
		extra = append(extra, text)
	}
	if len(extra) > 0 {
		a.kinds |= repairedSplit
	}
	return extra, nil
}

// compact is strict JSON without the white space between its tokens.
func compact(text []byte) string {
	b := make([]byte, 0, len(text))
	inside := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"':
			inside = !inside
		case c == '\\':
			b = append(b, c)
			i++
			c = text[i]
		case !inside && chars.IsSpace(c):
			continue
		}
		b = append(b, c)
	}
	return string(b)
}
