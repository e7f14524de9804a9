package httpapi

import (
	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
)

// responsesPath is that of OpenAI's Responses API. Some clients speak it unless they are
// told not to, and then need to know how.
const responsesPath = "/v1/responses"

// noResponses refuses the Responses API.
func noResponses(echo.Context) error {
	return &gateway.Error{Kind: gateway.NotFound, Code: "not_found",
		Message: "There is no Responses API here. Have the client use chat completions, POST " + chatPath +
			"; with Vercel's AI SDK that is openai.chat(model) in place of openai(model)."}
}
