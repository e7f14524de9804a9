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

// DurationBuckets are the bounds, in seconds, that the conventions give for
// RequestDuration.
func DurationBuckets() []float64 {
	return []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
}

// FirstTokenBuckets are the bounds, in seconds, that the conventions give for
// TimeToFirstToken.
func FirstTokenBuckets() []float64 {
	return []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
}

// TokenBuckets are the bounds that the conventions give for TokenUsage.
func TokenBuckets() []float64 {
	return []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, MaxTokens}
}

// MaxTokens is the highest of TokenBuckets. No request has more tokens; an upstream
// that says so is wrong.
const MaxTokens = 67108864
