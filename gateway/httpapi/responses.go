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
		Message: "Not found: this gateway has no Responses API. Use chat completions, POST " + chatPath +
			"; with Vercel's AI SDK that is openai.chat(model) instead of openai(model)."}
}
