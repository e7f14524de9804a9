package prompted

import (
	"encoding/json"
	"strings"

	"github.com/callgate/callgate/gateway/formats"
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// call is a call of the conversation.
type call struct {
	message  int // the one it stands in
	id, name string
	args     string // as the model wrote them
	old      bool   // a function_call
}

// noCall stands for the call of a result that has none.
const noCall = -1

// readCalls reads the calls of the conversation, and which messages are results.
func (w *writer) readCalls() {
	w.results = make([]int, len(w.c.Messages))
	exchanges := w.c.Exchanges(0)
	waiting := 0 // a function_call without its result, from 1
	for i := range w.c.Messages {
		m := &w.c.Messages[i]
		switch m.Role {
		case conversation.Tool:
			if w.results[i] == 0 {
				w.results[i] = noCall
			}
		case conversation.Assistant:
			for ; len(exchanges) > 0 && exchanges[0].Message == i; exchanges = exchanges[1:] {
				e := &exchanges[0]
				w.addCall(i, e.ID, e.Name, string(e.Args()))
				if e.Result >= 0 {
					w.results[e.Result] = len(w.calls)
				}
			}
			if n := len(w.calls); (n == 0 || w.calls[n-1].message != i) && w.readFunctionCall(i) {
				waiting = len(w.calls)
			}
		case conversation.Other:
			if w.member(m, "role") == "function" {
				w.results[i] = noCall
				if waiting > 0 && w.calls[waiting-1].name == w.member(m, "name") {
					w.results[i], waiting = waiting, 0
				}
			}
		}
	}
}

func (w *writer) addCall(message int, id, name, args string) {
	if w.form.number != nil {
		id = w.form.number(len(w.calls), name)
	}
	w.calls = append(w.calls, call{message: message, id: id, name: name, args: args})
}

// readFunctionCall reads the function_call of a message, which came before tool_calls.
func (w *writer) readFunctionCall(message int) bool {
	function := conversation.Member(w.c.Text, w.c.Messages[message].At, "function_call")
	if !conversation.IsObject(w.c.Text, function) {
		return false
	}
	name, _ := conversation.Decode(w.c.Text, conversation.Member(w.c.Text, function, "name"))
	at := conversation.Member(w.c.Text, function, "arguments")
	args, ok := conversation.Decode(w.c.Text, at)
	if !ok {
		args = at.Of(w.c.Text)
	}
	w.addCall(message, "", string(name), string(args))
	w.calls[len(w.calls)-1].old = true
	return true
}

// member is the text of a message's member.
func (w *writer) member(m *conversation.Message, name string) string {
	s, _ := conversation.Decode(w.c.Text, conversation.Member(w.c.Text, m.At, name))
	return string(s)
}

// assistant writes an assistant message, its calls as text.
func (w *writer) assistant(m *conversation.Message, calls []call) {
	if m.Calls.IsNull(w.c.Text) && len(calls) == 0 {
		w.out = append(w.out, m.At.Of(w.c.Text)...)
		return
	}
	w.warnOfCalls(m)
	w.out = append(w.out, '{')
	written := false
	wire.Members(w.c.Text[:m.At.End], m.At.Start, func(key []byte, v wire.Span) bool {
		switch string(wire.Key(key)) {
		case "tool_calls":
		case "content":
			written = true
			w.out = appendMember(w.out, key, nil)
			w.turnContent(v, calls)
		case "function_call":
			if conversation.IsObject(w.c.Text, v) {
				if len(calls) > 0 && !calls[0].old {
					w.warned.drop("function_call")
				}
				return true
			}
			fallthrough
		default:
			w.out = appendMember(w.out, key, v.Of(w.c.Text))
		}
		return true
	})
	if !written {
		w.out = appendMember(w.out, []byte("content"), nil)
		w.turnContent(wire.Span{}, calls)
	}
	w.out = append(w.out, '}')
}

// turnContent appends the content of a message with its calls.
func (w *writer) turnContent(at wire.Span, calls []call) {
	if len(calls) == 0 && !at.IsNull(w.c.Text) {
		w.out = append(w.out, at.Of(w.c.Text)...)
		return
	}
	text, others := w.said(at)
	turn := formats.Turn{Content: text}
	if w.turn.Silent && text != "" { // the form says nothing of text beside calls
		turn.Content += "\n"
	}
	for i := range calls {
		turn.Calls = append(turn.Calls, formats.Call{ID: calls[i].id, Name: calls[i].name, Args: w.arguments(calls[i].args)})
	}
	written := w.turn.Write(turn)
	if text == "" { // what parts the calls from the text before them
		written = strings.TrimLeft(written, "\n")
	}
	w.appendContent([]byte(written), others)
}

// warnOfCalls warns of calls that are not of functions.
func (w *writer) warnOfCalls(m *conversation.Message) {
	if m.Calls.IsNull(w.c.Text) || w.c.Text[m.Calls.Start] != '[' {
		return
	}
	wire.Elements(w.c.Text[:m.Calls.End], m.Calls.Start, func(_ int, at wire.Span) bool {
		if !conversation.IsObject(w.c.Text, conversation.Member(w.c.Text, at, "function")) {
			kind, _ := conversation.Decode(w.c.Text, conversation.Member(w.c.Text, at, "type"))
			w.warned.drop(string(kind))
		}
		return true
	})
}

// rawArguments is the member that holds a text which is not a JSON object, as in the
// conversations that package history repairs. A model reads there what it wrote.
const rawArguments = "raw_arguments"

// arguments reads the arguments of a call. Values keep their bytes.
func (w *writer) arguments(text string) []formats.Arg {
	text = strings.Trim(text, " \t\r\n")
	if text == "" || text == "null" {
		return nil
	}
	raw := []byte(text)
	if !conversation.IsStrictObject(raw) {
		w.warned.args++
		return []formats.Arg{{Key: rawArguments, Value: wire.AppendQuoted(nil, text)}}
	}
	var args []formats.Arg
	wire.Members(raw, 0, func(key []byte, v wire.Span) bool {
		args = append(args, formats.Arg{Key: string(wire.Key(key)), Value: json.RawMessage(v.Of(raw))})
		return true
	})
	return args
}
