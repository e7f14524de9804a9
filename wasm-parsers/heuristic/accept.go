package heuristic

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// accepts reports whether a tool takes arguments, a strict object, as its schema has them: it
// declares every one, none that it requires is missing, and each is of a type that it may have.
func accepts(tool *sdk.Tool, args []byte, maxDepth int) bool {
	if tool == nil {
		return false
	}
	var r relaxed.Reader
	r.Init(maxDepth)
	seen := make([]bool, len(tool.Params))
	var param *sdk.Param
	for len(args) > 0 {
		n, tok := r.Feed(args)
		args = args[n:]
		text := chars.SkipSpace(r.Out)
		switch {
		case tok == relaxed.Bad:
			return false
		case tok == relaxed.Key && r.Depth() == 1:
			i := paramOf(tool, string(r.Key()))
			if i < 0 {
				return false
			}
			seen[i], param = true, &tool.Params[i]
		case param != nil && tok != relaxed.More && tok != relaxed.Key:
			if !allows(param.Types, tok, text) {
				return false
			}
			param = nil
		}
		if tok != relaxed.More {
			r.Out = r.Out[:0]
		}
	}
	for i := range tool.Params {
		if tool.Params[i].Required && !seen[i] {
			return false
		}
	}
	return true
}

func paramOf(tool *sdk.Tool, name string) int {
	for i := range tool.Params {
		if tool.Params[i].Name == name {
			return i
		}
	}
	return -1
}

// allows reports whether a value that begins with tok, and is text if it is a scalar, may be of one
// of the types.
func allows(types sdk.Types, tok relaxed.Token, text []byte) bool {
	var is sdk.Types
	switch tok {
	case relaxed.ObjectOpen:
		is = abi.Object
	case relaxed.ArrayOpen:
		is = abi.Array
	case relaxed.String:
		is = abi.String
	case relaxed.Bool:
		is = abi.Boolean
	case relaxed.Null:
		is = abi.Null
	case relaxed.Number:
		is = abi.Number
		for whole := true; whole && len(text) > 0; text = text[1:] {
			if whole = text[0] == '-' || chars.IsDigit(text[0]); whole && len(text) == 1 {
				is |= abi.Integer
			}
		}
	}
	return types == 0 || types&is != 0
}
