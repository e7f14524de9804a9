package heuristic

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
)

type call = callobject.Call

// status is how far a reader has come.
type status uint8

const (
	more status = iota // no part is complete yet
	next               // a part was read that a call may have
	done               // the whole is complete
	bad                // this is no call
)

// place is where a reader is.
type place uint8

const (
	atTop      place = iota
	inList           // between the elements of an array of calls
	inWrapper        // between the members of an object that holds calls
	inCall           // between the members of a call
	inFunction       // between the members of the object "function" of a call
	inValue          // before or in the value of a member
	inArgs           // between the arguments, or in a scalar one
	inSchema         // in an object that is an argument, before its first key
	inType           // behind the key "type" there
	inNested         // inside an argument
)

// reader reads a JSON value that is a call or holds calls. It stops at the first
// member that a call does not have.
type reader struct {
	json  *relaxed.Reader
	forms forms
	tools []sdk.Tool // empty if they are not known
	// sure says that what is around the value makes it a call, so that arguments
	// may be missing.
	sure  bool
	bare  bool // the value is the arguments of cur
	calls []call

	place     place
	back      place // where the value belongs to
	field     field
	seen      field // members of the call so far
	list      bool  // inside an array
	wrap      bool  // inside an object that holds calls
	cur       call
	tool      *sdk.Tool // that cur calls, if the tools are known
	late      bool      // the arguments came in a form that is looked at in the end
	check     checker
	argsDepth int
	valueAt   int  // where in json.Out the argument begins
	mended    bool // a comma was missing between calls, or a brace was too many behind one
	braces    int
}

// newReader makes a reader of a value, with a reader of JSON that is ready for it.
func newReader(f forms, tools []sdk.Tool, json *relaxed.Reader) reader {
	return reader{json: json, forms: f, tools: tools}
}

// newArgs makes a reader of the arguments of a call whose name was written in front
// of them. tool is nil if the tools are not known.
func newArgs(name string, tool *sdk.Tool, json *relaxed.Reader) reader {
	return reader{json: json, bare: true, cur: call{Name: name}, tool: tool, seen: fieldArgs}
}

// maxShort is how long a member may be that is neither arguments nor holds calls.
const maxShort = 4096

// step reads up to the end of the next token.
func (r *reader) step(src []byte) (int, status) {
	switch {
	case r.place != inList:
	case r.json.Between():
		if n := r.mend(src); n > 0 {
			return n, next
		}
		src = src[:1] // a comma, what is behind which is looked at by itself
	default:
		if n, ok := mayBegin(src); !ok {
			return n, bad
		}
	}
	var n int
	var tok relaxed.Token
	if r.place == inNested {
		n, tok = r.json.FeedTo(src, r.argsDepth)
	} else {
		n, tok = r.json.Feed(src)
	}
	switch {
	case tok == relaxed.Bad, tok == relaxed.Done, r.place == inValue && r.field.short() && len(r.json.Out) > maxShort:
		return n, bad
	case tok == relaxed.More:
		return n, more
	}
	return n, r.token(tok)
}

// mayBegin reports whether an element of a list of calls may begin as src does, or the list end. Anything else is let go
// with its first byte: the output may end within it, and it would be lost.
func mayBegin(src []byte) (n int, ok bool) {
	n = chars.Space(src, 0)
	if n == len(src) || src[n] == '{' || src[n] == ']' || src[n] == ',' {
		return n, true
	}
	return n + 1, false
}

// maxBraces is how many closing braces behind a complete call are dropped.
const maxBraces = 2

// mend reads what stands between two calls of a list where it is not a comma.
func (r *reader) mend(src []byte) int {
	n := chars.Space(src, 0)
	switch {
	case n > 0:
		return n
	case src[0] == '{':
		r.json.Feed([]byte{','})
		r.mended = true
	case src[0] == '}' && r.braces < maxBraces:
		r.mended = true
		r.braces++
		return 1
	}
	return 0
}

// fit reports whether every call is of a tool that takes its arguments.
func (r *reader) fit() status {
	for i := range r.calls {
		if !accepts(sdk.FindTool(r.tools, r.calls[i].Name), r.calls[i].Args, r.json.MaxDepth()) {
			return bad
		}
	}
	return good(len(r.calls) > 0)
}

// ended reports whether the output may end here: only the bracket of an array of
// complete calls is missing.
func (r *reader) ended() bool {
	return r.place == inList && !r.wrap && len(r.calls) > 0
}

// result are the calls of a value that was read.
func (r *reader) result() []call {
	if r.json.Repaired() != 0 || r.mended { // somewhere in it, not always in each of them
		for i := range r.calls {
			r.calls[i].Repaired = true
		}
	}
	return r.calls
}

func (r *reader) token(tok relaxed.Token) status {
	switch r.place {
	case atTop:
		return r.top(tok)
	case inList:
		return r.element(tok)
	case inValue:
		return r.value(tok)
	case inArgs, inSchema, inType:
		return r.argument(tok)
	case inNested:
		r.place = inArgs
		return next
	default: // between members
		if tok == relaxed.Key {
			return r.member(r.json.Key())
		}
		return r.close()
	}
}

func (r *reader) top(tok relaxed.Token) status {
	switch {
	case tok == relaxed.ObjectOpen && r.bare:
		return r.beginArgs(false)
	case tok == relaxed.ObjectOpen && r.forms&object != 0:
		return r.beginCall()
	case tok == relaxed.ArrayOpen && r.forms&array != 0:
		return r.beginList()
	}
	return bad
}

func (r *reader) beginList() status {
	r.list, r.place = true, inList
	return next
}

func (r *reader) element(tok relaxed.Token) status {
	switch tok {
	case relaxed.ObjectOpen:
		return r.beginCall()
	case relaxed.ArrayClose:
		if len(r.calls) == 0 {
			return bad
		}
		r.list = false
		return r.behind()
	default:
		return bad
	}
}

// behind goes on behind a call or an array of calls.
func (r *reader) behind() status {
	switch {
	case r.list:
		r.place = inList
	case r.wrap:
		r.place = inWrapper
	default:
		return done
	}
	return next
}

func (r *reader) beginCall() status {
	r.place, r.cur, r.tool, r.seen, r.late = inCall, call{}, nil, 0, false
	return next
}

// close reads the end of an object that is not arguments.
func (r *reader) close() status {
	switch {
	case r.place == inFunction && r.seen&fieldName != 0:
		r.place = inCall
		return next
	case r.place == inWrapper && len(r.calls) > 0:
		return done
	case r.place == inCall:
		return r.endCall()
	}
	return bad
}

// endCall looks at a call as a whole.
func (r *reader) endCall() status {
	if r.cur.Name == "" || r.seen&fieldArgs == 0 && !r.mayLack() {
		return bad
	}
	if r.seen&fieldArgs == 0 {
		r.cur.Args = []byte("{}")
	}
	if r.cur.Form == formKeys && !accepts(r.tool, r.cur.Args, r.json.MaxDepth()) {
		return bad
	}
	if r.late && !checkArgs(r.cur.Args, r.cur.Name, r.tool, r.json.MaxDepth()) {
		return bad
	}
	r.calls = append(r.calls, r.cur)
	r.cur = call{}
	return r.behind()
}

// mayLack reports whether the call may have no arguments: it is clear that it is
// one, and the tool needs none.
func (r *reader) mayLack() bool {
	if !r.sure && (r.tool == nil || !r.wrap && r.seen&(fieldType|fieldFunction) == 0) {
		return false
	}
	return !needsArguments(r.tool)
}

func needsArguments(t *sdk.Tool) bool {
	if t == nil {
		return false
	}
	for i := range t.Params {
		if t.Params[i].Required {
			return true
		}
	}
	return false
}

func good(ok bool) status {
	if ok {
		return next
	}
	return bad
}
