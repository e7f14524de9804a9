package responses

import (
	"strconv"

	"github.com/callgate/callgate/gateway/internal/tokens"
)

// CountTokens is the answer to a question for the tokens of a request: an estimate, since each
// model has a tokenizer of its own. Translate comes first.
func (r *Request) CountTokens() []byte {
	b := strconv.AppendInt([]byte(`{"object":"response.input_tokens","input_tokens":`), int64(tokens.JSON(object(r.chat).get("messages"))+tokens.JSON(object(r.chat).get("tools"))+1), 10)
	return append(b, '}')
}
