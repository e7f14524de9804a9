package prompted

import "slices"

// form is how a family's chat template writes what concerns tools. Its texts are those
// of the template that its comment names, written down from knowledge of it. The comment
// says where that is not certain, and where the form differs.
type form struct {
	name   string // of the parser
	preset string // the system prompt where the client has none
	first  bool   // the tools stand before the client's text, not behind it
	gap    string // between the two

	open, between, close string // around the tools
	tool                 func(dst []byte, t *tool) []byte
	results              frame
	// number gives a call its id by its number in the conversation, from 0. It is nil
	// where ids are the client's.
	number func(n int, name string) string
}

func forms() []form { return slices.Concat(tagForms(), tokenForms(), llamaForms(), plainForms()) }

// list is what the prompt says of tools.
func (f *form) list(tools []tool) string {
	dst := []byte(f.open)
	for i := range tools {
		if i > 0 {
			dst = append(dst, f.between...)
		}
		dst = f.tool(dst, &tools[i])
	}
	return string(append(dst, f.close...))
}

// prompt is a system prompt of the template's own text and the tools.
func (f *form) prompt(tools string) string {
	if f.preset == "" {
		return tools
	}
	return f.preset + f.gap + tools
}

// whole writes tools as the request has them, with type and function.
func whole(write func(dst, value []byte) []byte) func(dst []byte, t *tool) []byte {
	return func(dst []byte, t *tool) []byte { return write(dst, t.whole) }
}

// function writes the functions alone.
func function(write func(dst, value []byte) []byte) func(dst []byte, t *tool) []byte {
	return func(dst []byte, t *tool) []byte { return write(dst, t.function) }
}
