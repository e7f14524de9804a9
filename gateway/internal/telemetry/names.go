package telemetry

import "strings"

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
)

// Values of these attributes.
const (
	Chat   = "chat"   // of OperationName
	Input  = "input"  // of TokenType
	Output = "output" // of TokenType
)

// Metrics of the same conventions. The unit is part of the name in Prometheus alone.
const (
	RequestDuration  = "gen_ai.server.request.duration"    // seconds
	TimeToFirstToken = "gen_ai.server.time_to_first_token" //nolint:gosec // a model's token; seconds
	TokenUsage       = "gen_ai.client.token.usage"         //nolint:gosec // a model's tokens
)

// Prometheus is a name in the form that Prometheus's own naming rules ask for: with
// underscores for dots.
func Prometheus(name string) string { return strings.ReplaceAll(name, ".", "_") }
