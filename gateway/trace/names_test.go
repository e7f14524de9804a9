package trace_test

import (
	"testing"

	semconv "go.opentelemetry.io/otel/semconv/v1.41.0" // the last one with the conventions for generative AI, which have moved

	"github.com/callgate/callgate/gateway/internal/telemetry"
)

// TestNames holds that attributes and their values are called as OpenTelemetry's conventions call them.
func TestNames(t *testing.T) {
	t.Parallel()
	for ours, theirs := range map[string]string{
		telemetry.OperationName: string(semconv.GenAIOperationNameKey), telemetry.ProviderName: string(semconv.GenAIProviderNameKey),
		telemetry.RequestModel: string(semconv.GenAIRequestModelKey), telemetry.RequestStream: string(semconv.GenAIRequestStreamKey),
		telemetry.ResponseModel: string(semconv.GenAIResponseModelKey), telemetry.FinishReasons: string(semconv.GenAIResponseFinishReasonsKey),
		telemetry.TimeToFirstChunk: string(semconv.GenAIResponseTimeToFirstChunkKey), telemetry.TokenType: string(semconv.GenAITokenTypeKey),
		telemetry.InputTokens: string(semconv.GenAIUsageInputTokensKey), telemetry.OutputTokens: string(semconv.GenAIUsageOutputTokensKey),
		telemetry.CachedTokens: string(semconv.GenAIUsageCacheReadInputTokensKey), telemetry.WrittenTokens: string(semconv.GenAIUsageCacheCreationInputTokensKey),
		telemetry.ToolName: string(semconv.GenAIToolNameKey), telemetry.ToolCallID: string(semconv.GenAIToolCallIDKey), telemetry.ToolType: string(semconv.GenAIToolTypeKey),
		telemetry.MCPMethod: string(semconv.McpMethodNameKey), telemetry.MCPVersion: string(semconv.McpProtocolVersionKey),
		telemetry.JSONRPCID: string(semconv.JSONRPCRequestIDKey), telemetry.RPCStatus: string(semconv.RPCResponseStatusCodeKey),
		telemetry.Error: string(semconv.ErrorTypeKey), telemetry.HTTPStatus: string(semconv.HTTPResponseStatusCodeKey),
		telemetry.Chat: semconv.GenAIOperationNameChat.Value.AsString(), telemetry.Texts: semconv.GenAIOperationNameTextCompletion.Value.AsString(),
		telemetry.Embeddings: semconv.GenAIOperationNameEmbeddings.Value.AsString(), telemetry.ExecuteTool: semconv.GenAIOperationNameExecuteTool.Value.AsString(),
		telemetry.InvokeAgent: semconv.GenAIOperationNameInvokeAgent.Value.AsString(), telemetry.ToolsCall: semconv.McpMethodNameToolsCall.Value.AsString(),
		telemetry.Input: semconv.GenAITokenTypeInput.Value.AsString(), telemetry.Output: semconv.GenAITokenTypeOutput.Value.AsString(),
		telemetry.Operation("embeddings"): telemetry.Embeddings,
	} {
		if ours != theirs {
			t.Errorf("got %s, want %s", ours, theirs)
		}
	}
}
