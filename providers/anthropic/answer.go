package anthropic

import (
	"errors"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// finishReasons are Anthropic's stop reasons in OpenAI's words. A turn that was
// paused so that the client sends it back to go on, perhaps behind a compaction, has
// stopped for OpenAI's clients.
var finishReasons = map[string]string{
	"end_turn": "stop", "stop_sequence": "stop", "pause_turn": "stop", "compaction": "stop",
	"tool_use":   "tool_calls",
	"max_tokens": "length", "model_context_window_exceeded": "length",
	"refusal": "content_filter",
}

// errNoMessage is the error of an answer that is not one of the Messages API.
var errNoMessage = errors.New("the answer is no message")

// isAnswer says whether an upstream's JSON, which nobody has checked yet, is an object
// from end to end. What other parsers put up with is let through.
func isAnswer(data value) bool {
	return isObject(data) && data.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// head is what an answer and every chunk of a stream begin with.
type head struct {
	id, model value
	created   int64
}

// readHead takes the id and the model from a message of Anthropic's; model is the
// one that was asked for, for a server that does not say.
func readHead(message value, created int64, model string) head {
	h := head{id: get(message, "id"), model: get(message, "model"), created: created}
	if !isString(h.id) {
		h.id = value(`""`)
	}
	if !isString(h.model) {
		h.model = quote(model)
	}
	return head{clone(h.id), clone(h.model), created}
}

func clone(v value) value { return append(value(nil), v...) }

// open begins an answer or a chunk.
func (h head) open(kind string) object {
	var o object
	o.set("id", h.id)
	o.setString("object", kind)
	o.set("created", strconv.AppendInt(nil, h.created, 10))
	o.set("model", h.model)
	return o
}

// ending is how an answer ended.
type ending struct {
	reason   value // Anthropic's stop_reason
	sequence value // the stop sequence that the model wrote, if it was one
}

// read takes what a message, or the delta of one, says about its end.
func (e *ending) read(message value) {
	if v := get(message, "stop_reason"); isString(v) {
		e.reason = clone(v)
	}
	if v := get(message, "stop_sequence"); isString(v) {
		e.sequence = clone(v)
	}
}

// cut says whether the answer ended where there was no more room for it.
func (e *ending) cut() bool { return finishReasons[text(e.reason)] == "length" }

// set writes finish_reason, and Anthropic's own word beside it under the name that
// OpenRouter uses. native says that the client gets that word.
func (e *ending) set(o *object, calls int, native bool, w *warnings) {
	own := text(e.reason)
	finish, known := finishReasons[own]
	switch {
	case own == "":
		w.add("stop_reason", "none")
		if finish = "stop"; calls > 0 {
			finish = "tool_calls"
		}
	case !known:
		if !native {
			w.add("stop_reason", own)
		}
		if finish = "stop"; calls > 0 {
			finish = "tool_calls"
		}
	case finish == "tool_calls" && calls == 0:
		w.add("stop_reason", "tool_use_without_call")
		finish = "stop"
	case own == "pause_turn" || own == "compaction":
		if !native {
			w.add("stop_reason", own)
		} else if calls > 0 {
			finish = "tool_calls" // which the client does not see, and nobody has to repair
		}
	}
	o.setString("finish_reason", finish)
	o.setGiven("native_finish_reason", e.reason)
	o.setGiven("stop_sequence", e.sequence)
}

// extras are fields of an answer that neither side's form has a place for, such as
// container: they stand beside OpenAI's own.
type extras []field

// messageFields are the fields that are translated of a message of Anthropic's, and
// of the event that ends one.
var messageFields = set("id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage", "delta")

// reserved are OpenAI's own fields, which nothing else may take the place of.
var reserved = set("id", "object", "created", "model", "choices", "usage", "service_tier", "error")

// maxExtras is how many of them there may be. Anthropic has a handful.
const maxExtras = 64

// add takes the fields of an object that are not translated, in place of those that
// came before.
func (e *extras) add(o value, translated map[string]bool, w *warnings) {
	_ = members(o, func(name string, v value) error {
		if translated[name] || reserved[name] || absent(v) {
			return nil
		}
		i := slices.IndexFunc(*e, func(f field) bool { return f.name == name })
		switch {
		case i >= 0:
			(*e)[i].v = compact(v)
		case len(*e) == maxExtras:
			w.drop("answer.fields")
		default:
			*e = append(*e, field{name, compact(v)})
		}
		return nil
	})
}

// get is a member of one of them, nil for none.
func (e extras) get(name, member string) value {
	for _, f := range e {
		if f.name == name {
			return get(f.v, member)
		}
	}
	return nil
}

func (e extras) set(o *object) {
	for _, f := range e {
		o.set(f.name, f.v)
	}
}
