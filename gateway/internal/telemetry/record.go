// Package telemetry is what the metrics and the traces of the gateway have in common:
// OpenTelemetry's names for generative AI, how a request's end is classed, and text
// made fit to be exported.
package telemetry

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway"
)

// ErrorType is how a request failed, in one word, or "" if it did not: the error's
// code, or the status where there is none. A stream that the upstream ended with an
// error has failed, whatever its status was, as its last attempt has.
func ErrorType(r *gateway.Record) string {
	switch {
	case r.Code != "":
		return r.Code
	case r.Status >= 400:
		return strconv.Itoa(r.Status)
	case r.Summary != nil && r.Summary.UpstreamError && len(r.Summary.Attempts) > 0:
		return r.Summary.Attempts[len(r.Summary.Attempts)-1].Outcome
	case r.Summary != nil && r.Summary.UpstreamError:
		return "upstream_error"
	}
	return ""
}

// Text is s made fit for a label or an attribute: valid UTF-8 of at most limit bytes.
// Anything else is refused by Prometheus and by OTLP, where one bad string loses all
// spans that are sent with it.
func Text(s string, limit int) string {
	if len(s) > limit {
		cut := limit
		for cut > max(0, limit-utf8.UTFMax) && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut]
	}
	return strings.ToValidUTF8(s, "?")
}

// Attributes of OpenTelemetry's semantic conventions. The gen_ai ones are those of
// github.com/open-telemetry/semantic-conventions-genai, whose status is Development: a
// name that changes there changes here and nowhere else.
const (
	OperationName    = "gen_ai.operation.name"
	ProviderName     = "gen_ai.provider.name"
	RequestModel     = "gen_ai.request.model"
	RequestStream    = "gen_ai.request.stream"
	TimeToFirstChunk = "gen_ai.response.time_to_first_chunk" // seconds
	TokenType        = "gen_ai.token.type"                   //nolint:gosec // a model's tokens
	Error            = "error.type"
	HTTPStatus       = "http.response.status_code"

	InputTokens  = "gen_ai.usage.input_tokens"            //nolint:gosec // a model's tokens
	OutputTokens = "gen_ai.usage.output_tokens"           //nolint:gosec // a model's tokens
	CachedTokens = "gen_ai.usage.cache_read.input_tokens" //nolint:gosec // a model's tokens; part of the input tokens

	ToolName = "gen_ai.tool.name"
)

// Those that are there with OTEL_SEMCONV_STABILITY_OPT_IN alone.
const (
	ResponseModel = "gen_ai.response.model"
	FinishReasons = "gen_ai.response.finish_reasons"
	WrittenTokens = "gen_ai.usage.cache_creation.input_tokens" //nolint:gosec // a model's tokens; part of the input tokens

	ToolCallID = "gen_ai.tool.call.id"
	ToolType   = "gen_ai.tool.type"

	MCPMethod  = "mcp.method.name"
	MCPVersion = "mcp.protocol.version"
	JSONRPCID  = "jsonrpc.request.id"
	RPCStatus  = "rpc.response.status_code"
)

// Values of these attributes.
const (
	Chat        = "chat"            // of OperationName
	Texts       = "text_completion" // of OperationName
	Embeddings  = "embeddings"      // of OperationName
	ExecuteTool = "execute_tool"    // of OperationName
	InvokeAgent = "invoke_agent"    // of OperationName
	Extension   = "extension"       // of ToolType: run on the side of who asks the model
	ToolsCall   = "tools/call"      // of MCPMethod
	ToolError   = "tool_error"      // of Error: the tool's own word
	Input       = "input"           // of TokenType
	Output      = "output"          // of TokenType
)

// Operation is what a request asks for, by the protocol that its client speaks. What the conventions have no word for, such as
// rerank or images/generations, is called as it is; "" is a chat.
func Operation(protocol string) string {
	switch protocol {
	case "", "chat", "messages", "responses":
		return Chat
	case "completions":
		return Texts
	}
	return protocol
}

// Metrics of the same conventions. The unit is part of the name in Prometheus alone.
const (
	RequestDuration  = "gen_ai.server.request.duration"    // seconds
	TimeToFirstToken = "gen_ai.server.time_to_first_token" //nolint:gosec // a model's token; seconds
	TokenUsage       = "gen_ai.client.token.usage"         //nolint:gosec // a model's tokens
)

// Prometheus is a name in the form that Prometheus's own naming rules ask for: with
// underscores for dots.
func Prometheus(name string) string { return strings.ReplaceAll(name, ".", "_") }
