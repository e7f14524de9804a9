package conformance

import "encoding/json"

// protocol is what a request and its answer are written in.
type protocol int

const (
	chatAPI      protocol = iota // OpenAI's chat completions
	responsesAPI                 // OpenAI's responses
	messagesAPI                  // Anthropic's messages
	otherAPI                     // anything else: its answer is compared as it is
)

// protocolOf is the protocol of a path below an API's base URL.
func protocolOf(path string) protocol {
	switch path {
	case "", "/chat/completions":
		return chatAPI
	case "/responses":
		return responsesAPI
	case "/messages":
		return messagesAPI
	}
	return otherAPI
}

// endpoint is where a case's requests go, below the base URL.
func (c *Case) endpoint() string {
	if c.Path == "" {
		return "/chat/completions"
	}
	return c.Path
}

// protocol is that of the answer that is judged.
func (c *Case) protocol() protocol {
	if c.Then != "" && c.Then != "GET /responses/$ID" { // what answers it is no response
		return otherAPI
	}
	return protocolOf(c.Path)
}

// readWhole reads a whole answer and checks its form.
func (c *Case) readWhole(body []byte) *reply {
	switch c.protocol() {
	case responsesAPI:
		return readResponse(body)
	case messagesAPI:
		return readMessage(body)
	case otherAPI:
		return &reply{data: []string{string(body)}}
	}
	return readWhole(body)
}

// readStream reads a stream and checks its form.
func (c *Case) readStream(body []byte) *reply {
	switch c.protocol() {
	case responsesAPI:
		return readResponseStream(body)
	case messagesAPI:
		return readMessageStream(body)
	case otherAPI:
		return readOtherStream(body)
	}
	return readStream(body)
}

// usage is what an answer of a protocol says that an upstream.json has used.
func (p protocol) usage() string {
	switch p {
	case chatAPI:
		return usage
	case responsesAPI:
		return `{"input_tokens":1009,"output_tokens":2003,"total_tokens":3012}`
	case messagesAPI:
		return `{"input_tokens":1009,"output_tokens":2003}`
	}
	return ""
}

// readOtherStream reads a stream of a path beside those of conversations. Of a completion, whose
// chunks have texts, it reads what they say.
func readOtherStream(body []byte) *reply {
	events, faults := readEvents(string(body))
	r := &reply{faults: faults}
	var a Answer
	isCompletion := false
	for i, e := range events {
		if e.data == "[DONE]" {
			e.data = `"[DONE]"`
			if i != len(events)-1 {
				r.fault("done", "event %d comes after [DONE]", i+1)
			}
		}
		r.data = append(r.data, e.data)
		var c struct {
			Object  string
			Choices []struct {
				Text   string
				Reason string `json:"finish_reason"`
			}
		}
		_ = json.Unmarshal([]byte(e.data), &c) // what is none says nothing
		for _, choice := range c.Choices {
			isCompletion = isCompletion || c.Object == "text_completion"
			a.Content += choice.Text
			a.FinishReason += choice.Reason
		}
	}
	if isCompletion {
		r.answers = []Answer{a}
		if last := r.data[len(r.data)-1]; last != `"[DONE]"` {
			r.fault("done", "the stream ends without [DONE]")
		}
	}
	return r
}
