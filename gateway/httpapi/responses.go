package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
)

// The paths of OpenAI's Responses API and its Conversations API.
const (
	responsesPath     = "/v1/responses"
	conversationsPath = "/v1/conversations"
)

// parsers are how requests of the Responses API are read.
type parsers struct{ create, count, compact protocol.Parser }

// newParsers are those of a gateway that remembers in state, which is nil for one that does not.
func newParsers(state *state.Service, o responses.Options) parsers {
	if state != nil {
		return parsers{state.Parse, state.ParseCount, state.ParseCompact}
	}
	parse := responses.Stateless(o)
	return parsers{create: parse, count: parse, compact: responses.StatelessCompaction(o)}
}

// routeResponses adds the paths of the Responses API that make something.
func routeResponses(to *echo.Echo, x *exchange, p parsers) {
	before := x.access.middleware(answersAs(responses.Form))
	to.POST(responsesPath, orPrepare(x.handler(p.create), x.silent().handler(p.create)), before...)
	to.POST(responsesPath+"/compact", x.handler(p.compact), before...)
	to.POST(responsesPath+"/input_tokens", x.bodies.withBody(countResponse(p.count)), x.access.middleware(errorsAs(responses.Form))...)
}

// countResponse estimates the tokens of a request.
func countResponse(parse protocol.Parser) answerBody {
	return func(c echo.Context, body []byte, from protocol.Client) error {
		front, err := parse(c.Request().Context(), body, from)
		if err != nil {
			return err
		}
		return c.JSONBlob(http.StatusOK, front.(interface{ CountTokens() []byte }).CountTokens())
	}
}
