package trace

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/callgate/callgate/gateway/internal/telemetry"
	"github.com/callgate/callgate/gateway/toolserver"
)

// Rounds begins the span around a request whose tools the gateway may run itself, where the latest
// conventions are asked for; else there is none. end is called with "ok" or the error's code. What
// follows the first time does nothing.
func (t *Tracer) Rounds(ctx context.Context, model string) (_ context.Context, end func(outcome string)) {
	if t == nil || !t.latest {
		return ctx, func(string) {}
	}
	ctx, span := t.tracer.Start(ctx, telemetry.InvokeAgent, trace.WithSpanKind(trace.SpanKindInternal))
	if span.IsRecording() {
		span.SetAttributes(attribute.String(telemetry.OperationName, telemetry.InvokeAgent), text(telemetry.RequestModel, model))
	}
	return ctx, func(outcome string) {
		if outcome != "ok" && span.IsRecording() {
			fail(span, outcome, outcome != leftCode)
		}
		span.End()
	}
}

// Tool begins the span of a call that the gateway makes itself, with all its attempts, and hands the
// trace on to the tool's server. id is the model's for the call. end is called once with how it
// ended: "ok", "failed", or the kind of the error. Arguments and results are in no span.
func (t *Tracer) Tool(ctx context.Context, tool *toolserver.Tool, id string) (_ context.Context, end func(outcome string)) {
	if t == nil {
		return ctx, func(string) {}
	}
	ctx, span := t.start(ctx, tool)
	if span.IsRecording() {
		span.SetAttributes(attribute.String(telemetry.OperationName, telemetry.ExecuteTool), text(telemetry.ToolName, tool.Name), text("callgate.tool_server", tool.Server))
		if t.latest {
			span.SetAttributes(attribute.String(telemetry.ToolType, telemetry.Extension))
			if id != "" {
				span.SetAttributes(text(telemetry.ToolCallID, id))
			}
		}
	}
	hop := hopOf(ctx)
	return hop.With(ctx), func(outcome string) {
		if span.IsRecording() {
			if t.latest && tool.MCP {
				facts := hop.Facts()
				span.SetAttributes(protocol(facts)...)
				if outcome == "failed" && facts.Failed {
					outcome = telemetry.ToolError
				}
			}
			if outcome != "ok" {
				fail(span, outcome, true)
			}
		}
		span.End()
	}
}

// start begins the one span of a call. By the latest conventions that of a server with the Model
// Context Protocol is the protocol's, which says all that the tool's own would.
func (t *Tracer) start(ctx context.Context, tool *toolserver.Tool) (context.Context, trace.Span) {
	name, kind := telemetry.ExecuteTool, trace.SpanKindInternal
	if t.latest && tool.MCP {
		name, kind = telemetry.ToolsCall, trace.SpanKindClient
	}
	return t.tracer.Start(ctx, telemetry.Text(name+" "+tool.Name, maxText), trace.WithSpanKind(kind))
}

// hopOf is what a tool's server is told of the trace. A client's baggage is not for it.
func hopOf(ctx context.Context) *toolserver.Hop {
	headers := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, headers)
	return &toolserver.Hop{Parent: headers["traceparent"], State: headers["tracestate"]}
}

// protocol describes a call by the Model Context Protocol.
func protocol(f toolserver.HopFacts) []attribute.KeyValue {
	list := []attribute.KeyValue{attribute.String(telemetry.MCPMethod, telemetry.ToolsCall)}
	if f.Version != "" {
		list = append(list, text(telemetry.MCPVersion, f.Version))
	}
	if f.Request != "" {
		list = append(list, text(telemetry.JSONRPCID, f.Request))
	}
	if f.Code != 0 {
		list = append(list, attribute.String(telemetry.RPCStatus, strconv.Itoa(f.Code)))
	}
	return list
}
