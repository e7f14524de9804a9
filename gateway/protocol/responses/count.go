package responses

import "strconv"

// bytesPerToken is what a token has of a prompt, on average.
const bytesPerToken = 3.5

// CountTokens is the answer to a question for the tokens of a request: an estimate, since each
// model has a tokenizer of its own. Translate comes first.
func (r *Request) CountTokens() []byte {
	b := strconv.AppendInt([]byte(`{"object":"response.input_tokens","input_tokens":`), int64(float64(len(r.chat))/bytesPerToken+1), 10)
	return append(b, '}')
}
