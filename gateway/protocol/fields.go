package protocol

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
)

// Fields are the fields of a protocol's requests by those of chat completions that are made of them, where
// they have other names: what is wrong with a chat completion is told a client with the names that it has
// written itself.
type Fields map[string]string

// Place is the place in the client's request that a place in its chat completion came from, as far as one can
// tell: of a place within a field it is the field. One that has the same name in both stays as it is.
func (f Fields) Place(param string) string {
	if own, ok := f[param]; ok {
		return own
	}
	if own, ok := f[headOf(param)]; ok {
		return own
	}
	return param
}

// headOf is the field of the request that a place is in.
func headOf(param string) string {
	if i := strings.IndexAny(param, ".["); i >= 0 {
		return param[:i]
	}
	return param
}

// Message is what the gateway says of a request, with the client's name of the field. What an upstream
// says stays as it is.
func (f Fields) Message(e *gateway.Error) string {
	own := f.Place(e.Param)
	ours := len(e.Body) == 0 && slices.Contains([]gateway.Kind{gateway.Invalid, gateway.TooLarge, gateway.Looping}, e.Kind)
	if !ours || own == e.Param {
		return e.Message
	}
	return strings.ReplaceAll(e.Message, `"`+headOf(e.Param)+`"`, `"`+own+`"`)
}
