// Package prompted writes tools into the prompt, for upstreams that know nothing of
// them: a server of raw completions, a model behind a template without tools. The
// definitions go into the system prompt, and the calls and results of the conversation
// so far become text, all in the form that a family of models was trained on. What the
// model answers is text in that form too, which the parser of the same name reads.
//
// A form is what the family's own chat template prints inside of a message. The tokens
// that stand around messages are left to the upstream, which adds them for every
// message. Three things are the same for all forms and differ from some templates:
//
//   - Results are a user message, and those of one round are one message. Some
//     templates have a role of their own for results, but an upstream without tools knows
//     no such role, and many refuse two user messages in a row.
//   - The tools stand in the system prompt, where some templates have them before the
//     last user message. There they would move with every turn, and no upstream
//     could keep what it knows of the conversation so far.
//   - What a tool_choice asks for stands at the very end of the messages, since it may be
//     another one in the next turn. Only behind a message that the model is to
//     continue there is no place for it: then it stands behind the tools.
//
// Names and texts are not escaped beyond what JSON needs, as in the templates. A result
// that holds a format's markers reads as if they were the template's.
package prompted

import (
	"slices"

	"github.com/callgate/callgate/gateway/formats"
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// The warnings that Messages gives. KindArgs and KindContent have a count behind
// them: prompted_args:2.
const (
	// KindArgs counts calls whose arguments are not a JSON object. The text of the arguments
	// stands in one, as the member raw_arguments.
	KindArgs = "prompted_args"
	// KindContent counts parts of messages, such as images, that are not text and were put
	// behind it.
	KindContent = "prompted_content"
	// KindDropped, with a colon and a type behind it, says that there are tools or calls
	// of a type that no form can write, and that they were left out.
	KindDropped = "prompted_dropped"
)

// Choice is what a request's tool_choice and parallel_tool_calls ask for. The zero value
// leaves everything to the model.
type Choice struct {
	None     bool   // no tool; they stay in the prompt, for the turns that follow
	Required bool   // some tool
	Tool     string // this one, whether Required or not
	Single   bool   // parallel_tool_calls: false
}

func (c Choice) sentence() string {
	var s string
	switch {
	case c.None:
		return "Do not call any tool now."
	case c.Tool != "":
		s = "You MUST call the tool " + c.Tool + "."
	case c.Required:
		s = "You MUST call at least one of the tools."
	}
	if !c.Single {
		return s
	}
	if s != "" {
		s += " "
	}
	return s + "Call no more than one tool at a time."
}

// Format writes a conversation with tools in the form of one parser. It is not changed
// once it is made.
type Format struct {
	form form
	turn formats.Format // writes the turns of the model
}

// Names returns the names of the formats that have a form for prompts, sorted. They are
// names of parsers.
func Names() []string {
	var names []string
	for _, f := range forms {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names
}

// Find returns the format of a parser's name. Aliases of parsers are not known here. A
// caller looks for it once, when it reads its configuration.
func Find(name string) (*Format, bool) {
	for _, f := range forms {
		if f.name == name {
			f.read()
			turn, ok := formats.Find(name)
			return &Format{form: f, turn: turn}, ok
		}
	}
	return nil, false
}

// Messages returns the messages to send in place of c.Text, which is the array messages
// of a request, and what a client should know of that. tools is the request's array of
// that name. The request must go upstream without tools and tool_choice.
//
// Messages that need no change keep their bytes, and so do members that are not known
// here. The same input gives the same bytes. With the same tools and no choice, a
// conversation that grows keeps the bytes of the messages so far, up to the results of
// an unfinished round; a choice adds only behind them, unless the last message is the
// model's own.
//
// Results have no ids in most forms, and are told apart by their order alone: a caller
// sees to it that every call has its result, as package history does for
// an upstream that needs pairs. The tool that choice names has to be one of tools.
//
// Input is JSON that was validated. Whatever in it is not made as OpenAI's reference
// says is left for the upstream to complain about, and messages that are not an array are
// returned as they are. Time and memory are linear in the input.
func (f *Format) Messages(c *conversation.Conversation, tools []byte, choice Choice) (messages []byte, warnings []string) {
	if first, ok := wire.Value(c.Text, 0); !ok || c.Text[first.Start] != '[' {
		return c.Text, nil
	}
	w := &writer{Format: f, c: c}
	if offered := readTools(tools, &w.warned); len(offered) > 0 {
		w.tools, w.sentence = f.form.list(offered), choice.sentence()
	}
	w.readCalls()
	w.writeAll()
	return w.out, w.warned.list()
}
