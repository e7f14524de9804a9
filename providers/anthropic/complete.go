package anthropic

// completion is a whole answer on its way to OpenAI's form. Text is kept as it stood
// between the quotes of its strings, so that it comes out as it came.
type completion struct {
	text, reasoning []byte
	thoughts        list // thinking blocks as they are, with their signatures
	details         list // the same as reasoning_details
	calls           list
	citations       list
	others          list  // blocks that OpenAI's form has no place for
	count           int   // of calls
	native          value // the message as it came, for a client that knows it
	warnings        *warnings
}

// complete turns a whole answer of the Messages API into a chat completion. created
// is its time in seconds, and a what was asked. The error is errNoMessage, or a *reportedError.
func complete(data value, created int64, a *asked) (value, error) {
	w := &a.warnings
	if !isAnswer(data) {
		return nil, errNoMessage
	}
	content := get(data, "content")
	switch {
	case reports(data):
		return nil, &reportedError{data}
	case !isArray(content):
		return nil, errNoMessage
	}
	var end ending
	end.read(data)
	c := &completion{warnings: w}
	if a.native {
		c.native = data
	}
	var blocks []value
	_ = elements(content, func(_ int, v value) error {
		blocks = append(blocks, v)
		return nil
	})
	for i, v := range blocks {
		c.add(i, v, end.cut() && i == len(blocks)-1)
	}
	var tokens usage
	tokens.add(get(data, "usage"), w)
	var rest extras
	rest.add(data, messageFields, w)

	var choice object
	choice.set("index", value("0"))
	choice.set("message", c.message())
	choice.set("logprobs", value("null"))
	end.set(&choice, c.count, a.native, w)

	o := readHead(data, created, a.model).open("chat.completion")
	o.set("choices", value("["+string(choice.close())+"]"))
	if !tokens.empty() {
		o.set("usage", tokens.write())
	}
	tokens.setTier(&o)
	rest.set(&o)
	return o.close(), nil
}

// add takes the block at an index. cut says that the answer was cut behind it, or in it: a call
// without arguments may then have been cut in front of them, and gets none.
func (c *completion) add(index int, v value, cut bool) {
	m := fields(v)
	switch kind := text(m["type"]); kind {
	case "text":
		c.text = append(c.text, inner(m["text"])...)
		_ = elements(m["citations"], func(_ int, v value) error {
			c.citations.add(v)
			return nil
		})
	case "thinking":
		c.reasoning = append(c.reasoning, inner(m["thinking"])...)
		c.addThought(v, index)
	case "redacted_thinking":
		c.addThought(v, index)
	case "tool_use":
		input := m["input"]
		if input == nil {
			input = value("{}")
		}
		if cut && hollow(input) {
			c.warnings.add("cut", "tool_calls")
			input = nil
		}
		c.calls.add(calledBy(call(nil, m["id"], m["name"], quote(input)), m["caller"], false))
		c.count++
	default:
		if c.native == nil {
			c.warnings.add("block", kind)
		}
		c.others.add(v)
	}
}

// addThought adds a thinking block, in both forms that there are for it.
func (c *completion) addThought(v value, index int) {
	c.details.add(detail(v, index))
	c.thoughts.add(v)
}

// message is the message of the completion. Its content is null if there are calls
// and no text.
func (c *completion) message() value {
	var o object
	o.setString("role", "assistant")
	if c.text == nil && c.count > 0 {
		o.set("content", value("null"))
	} else {
		o.set("content", outer(c.text))
	}
	o.set("refusal", value("null"))
	if c.reasoning != nil {
		o.set("reasoning_content", outer(c.reasoning))
	}
	if len(c.thoughts) > 0 {
		o.set("thinking_blocks", c.thoughts.array())
		o.set("reasoning_details", c.details.array())
	}
	if c.count > 0 {
		o.set("tool_calls", c.calls.array())
	}
	var own object
	if len(c.citations) > 0 {
		own.set("citations", c.citations.array())
	}
	if len(c.others) > 0 {
		own.set("blocks", c.others.array())
	}
	own.setGiven("message", c.native)
	if len(own) > 0 {
		o.set("provider_specific_fields", own.close())
	}
	return o.close()
}

// call is an entry of tool_calls: a whole one, or one of a stream if it has an index.
// A field that is nil is left out.
func call(index, id, name, arguments value) value {
	var function, o object
	function.setGiven("name", name)
	function.set("arguments", arguments)
	o.setGiven("index", index)
	o.setGiven("id", id)
	if index == nil || name != nil {
		o.setString("type", "function")
	}
	o.set("function", function.close())
	return o.close()
}

// calledBy adds to an entry of tool_calls who has called, where that is a tool of Anthropic's: the API
// needs it back. That it was the model itself only the API's own clients are told.
func calledBy(entry, caller value, always bool) value {
	if !isObject(caller) || !always && text(get(caller, "type")) == "direct" {
		return entry
	}
	o := object(entry[:len(entry)-1])
	o.set("caller", compact(caller))
	return o.close()
}

// inner is what stands between the quotes of a string, nothing if v is none.
func inner(v value) []byte {
	if !isString(v) {
		return nil
	}
	return v[1 : len(v)-1]
}

// outer is the string of what inner gave.
func outer(b []byte) value { return append(append(value{'"'}, b...), '"') }
