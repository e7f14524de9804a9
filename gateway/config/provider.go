package config

import (
	"net/url"
	"slices"
	"strings"
)

// Provider is an upstream, and the defaults of the targets that use it.
type Provider struct {
	// Type is the adapter: "openai" for anything that speaks OpenAI's chat
	// completions, "azure" (Azure OpenAI), "qwen" (DashScope), "moonshot" (Kimi),
	// "anthropic", "demo" for the built-in one without a network. Required.
	Type string `yaml:"type" enum:"openai,azure,qwen,moonshot,anthropic,demo" required:"true" other:"whatever else speaks OpenAI's chat completions, such as vLLM or Ollama, is openai" doc:"Adapter: openai for anything that speaks OpenAI's chat completions, azure, qwen, moonshot, anthropic, or demo for the built-in one."`
	// BaseURL is where the upstream's paths begin: with its "/v1" for type openai,
	// the resource's endpoint for azure, alone or with "/openai/v1". It is required
	// for these two, and refused for demo, as are APIKey and Headers. The others have
	// their vendor's international address, which the adapter knows.
	BaseURL string `yaml:"base_url" eg:"http://127.0.0.1:8000/v1" doc:"Where the upstream's paths begin: with its /v1 for type openai, the resource's endpoint for azure, alone or with /openai/v1. Required for these two, but for type openai with an api_key: https://api.openai.com/v1 then. Default: https://dashscope-intl.aliyuncs.com/compatible-mode/v1 for qwen, https://api.moonshot.ai/v1 for moonshot, https://api.anthropic.com for anthropic."`
	// APIKey is sent as the vendor wants it: as the bearer key, for azure as
	// "api-key", for anthropic as "x-api-key". Left out, none is sent.
	APIKey Secret `yaml:"api_key" eg:"${OPENAI_API_KEY}" doc:"Key for the upstream. If it is left out, none is sent."`
	// APIVersion is the version of the upstream's interface, for azure and anthropic
	// only: for azure a date, "v1" or "preview". Default: the adapter's.
	APIVersion string `yaml:"api_version" eg:"\"2024-10-21\"" doc:"Version of the upstream's interface, for azure (a date, v1 or preview) and anthropic only. Default: the adapter's."`
	// MaxTokens is sent to anthropic, which demands a limit, where the client sets
	// none. Default 0, the adapter's, 0 to 1000000. It is refused for other types.
	MaxTokens int `yaml:"max_tokens" eg:"8192" default:"0" min:"0" max:"1000000" doc:"Limit on the answer's tokens where the client sets none, for anthropic only; 0 is the adapter's."`
	// Server is the upstream's software, which RawToolText needs to know: "vllm",
	// "sglang" or "llama.cpp". Both are for type openai only.
	Server string `yaml:"server" enum:"vllm,sglang,llama.cpp" doc:"The upstream's software, which raw_tool_text needs to know."`
	// Responses says what the upstream gets of a client of the Responses API: "native" is its own
	// request, for upstreams that have the API themselves, "chat" is a chat completion. For types
	// openai and azure. Default: "native" where BaseURL is OpenAI's own, else "chat".
	Responses string `yaml:"responses" enum:"native,chat" doc:"What the upstream gets of a client of the Responses API: native is the client's own request, for upstreams that have the API themselves, chat is a chat completion. For types openai and azure, whose api_version must be v1 or 2025-03-01-preview or later. Default: native for base_url https://api.openai.com, else chat."`
	// Headers are added to every request. Their values count as secrets, since
	// some upstreams are authorized by one.
	Headers map[string]Secret `yaml:"headers" eg:"{X-Team: a}" doc:"Headers added to every request; their values count as secrets."`
	// ForwardHeaders are names of clients' headers that the upstream gets beside those that
	// every upstream does, such as X-Title for OpenRouter. Keys for the gateway, what says
	// who the client is and what belongs to a connection are refused, as for PassHeaders.
	ForwardHeaders []string `yaml:"forward_headers" omit:"true" eg:"[x-title, http-referer]" doc:"Names of clients' headers that the upstream gets, beside content-type, accept, user-agent, idempotency-key, openai-beta, anthropic-beta, anthropic-version, traceparent and tracestate."`
	// PassHeaders are names of the upstream's headers that clients get beside those that
	// every client does: ids of requests, limits of rates, openai-*, and what an error says
	// of trying again.
	PassHeaders []string `yaml:"pass_headers" omit:"true" eg:"[x-cache]" doc:"Names of the upstream's headers that clients get, beside its ids of requests, limits of rates, openai-* and, of errors, retry-after and x-should-retry."`
	// Timeouts are those of one attempt.
	Timeouts Timeouts `yaml:"timeouts" eg:"{connect: 5s, total: 10m}" doc:"Timeouts of one attempt."`
	// Retry says when a failed attempt is made once more.
	Retry Retry `yaml:"retry" eg:"{max_retries: 2}" doc:"When a failed attempt is retried."`
	// CircuitBreaker says when a failing provider is left alone.
	CircuitBreaker CircuitBreaker `yaml:"circuit_breaker" eg:"{failure_threshold: 5, open_timeout: 60s}" doc:"When a failing provider is left alone."`
	// PromptCacheTTL is how long the provider keeps a prompt in its cache that nobody
	// uses, for routing by prefix. Default 5m, 1s to 48h.
	PromptCacheTTL Duration `yaml:"prompt_cache_ttl" default:"5m" min:"1s" max:"48h" doc:"How long the provider keeps an unused prompt in its cache, for routing: prefix."`
	// PromptCacheHints is what the provider can be told about the beginning of a prompt,
	// where a route's CacheHints is "set": "key" is the field prompt_cache_key, "marks" is
	// cache_control on text, "none" is nothing. Default: "key" for azure, and for openai
	// where BaseURL is OpenAI's own; "marks" for anthropic; "none" for all others.
	PromptCacheHints string `yaml:"prompt_cache_hints" enum:"none,key,marks" eg:"marks" doc:"What the provider can be told about the beginning of a prompt, where cache_hints is set: key is the field prompt_cache_key, marks is cache_control on text, as OpenRouter and LiteLLM take it. Default: key for azure and for base_url https://api.openai.com, marks for anthropic, none for the others."`
	// MaxResponse is the largest response read. Default 64MiB, 1B to 1GiB.
	MaxResponse Size `yaml:"max_response" default:"64MiB" min:"1B" max:"1GiB" doc:"Largest response read."`
	// MaxStream is the longest stream read, compressed or not. Nothing of one is kept, so
	// that this bounds traffic. Default 256MiB, 1B to 64GiB.
	MaxStream Size `yaml:"max_stream" default:"256MiB" min:"1B" max:"64GiB" doc:"Longest stream read."`
	// Parser is that of targets that name none: a name, a list of names, "auto"
	// or "none". The default is "auto" for demo and "none" for the other types, whose
	// text passes through.
	Parser Parsers `yaml:"parser" eg:"auto" doc:"Parser of targets that name none: a name, a list of names, auto or none. Default: auto for type demo, none for the others."`
	// Reasoning is that of targets that do not set it: "auto", "open", "closed"
	// or "none". The default is "auto" with a parser and "none" without.
	Reasoning string `yaml:"reasoning" enum:"auto,open,closed,none" doc:"State of the reasoning where the text begins. Default: auto with a parser, none without."`
	// Tools is that of targets that do not set it: how the upstream learns of a
	// request's tools. "native" sends them as they came, "prompted" writes them into the
	// prompt, in the form of the one parser that is named and reads the answer, for upstreams
	// that know nothing of tools. "auto", the default of the type openai, begins as native does;
	// an upstream that refuses tools is asked for the model's own text, or as with prompted, if
	// a parser reads it.
	Tools string `yaml:"tools" enum:"auto,native,prompted" eg:"prompted" doc:"How the upstream learns of a request's tools: native sends them as they came, prompted writes them into the prompt in the form of the one parser named, for upstreams that know nothing of tools; auto sends them as they came, and where the upstream refuses that and a parser reads its text, in the way that the server takes. Default: auto for type openai, native for others."`
	// ToolCalls is that of targets that do not set it: "off", "report" or
	// "repair" (the default of all). Native calls are looked at always but with
	// "off", which does not look at the answer; text is read only with a parser.
	ToolCalls string `yaml:"tool_calls" enum:"off,report,repair" doc:"What is done to tool calls, native ones and, with a parser, those in text: off does not look at the answer, report says what repair would do. Default: repair."`
	// OnInvalidCall is that of targets that do not set it: what is done about a call
	// that cannot be repaired. "pass" (the default of all) forwards it and says so,
	// "reject" answers with an error, "reask" asks the model once more and shows it
	// what was wrong.
	OnInvalidCall string `yaml:"on_invalid_call" enum:"pass,reject,reask" doc:"A call that cannot be repaired: pass forwards it and says so, reject answers with an error, reask asks the model once more. Default: pass."`
	// DoubtfulCall is that of targets that do not set it: what is done about a call that is
	// valid and can hardly be meant: a required text is empty, or it is one of two that the
	// model gives as alternatives. "off" takes it for any other, "report" says so, "refuse"
	// does with it what OnInvalidCall says. Default: "report".
	DoubtfulCall string `yaml:"doubtful_call" enum:"off,report,refuse" doc:"A call that is valid and can hardly be meant, since a required text is empty, a call in the text holds the beginning of another one or of an argument, or the model gives two as alternatives: off lets it pass, report says so, refuse does with it as on_invalid_call says. Default: report."`
	// ResponseFormat is that of targets that do not set it: how the upstream learns that a
	// request wants JSON (response_format). "native" (the default of all) sends it as it came,
	// "prompted" writes it into the prompt, with the schema, for upstreams that do not know it.
	ResponseFormat string `yaml:"response_format" enum:"native,prompted" eg:"prompted" doc:"How the upstream learns that an answer is to be JSON: native sends response_format as it came, prompted writes it and the schema into the prompt, for upstreams that do not know it. Default: native."`
	// StructuredOutput is that of targets that do not set it: what is done to an answer that a
	// request wants as JSON: "off" does not look at it, "report" says what "repair" would do.
	// The default is what ToolCalls is.
	StructuredOutput string `yaml:"structured_output" enum:"off,report,repair" doc:"What is done to an answer that a request wants as JSON (response_format, text.format, output_config.format): off does not look at it, report says what repair would do. Default: as tool_calls."`
	// OnInvalidOutput is that of targets that do not set it: what is done about such an answer
	// that is no JSON, or does not fit its schema, and cannot be repaired. "pass" (the default
	// of all) forwards it as it comes and says so, "reject" answers with an error, "reask" asks
	// the model once more and names the place. With the last two all of an answer waits until
	// it is known to be good.
	OnInvalidOutput string `yaml:"on_invalid_output" enum:"pass,reject,reask" doc:"An answer that was to be JSON and cannot be repaired, or does not fit its schema: pass forwards it and says so, reject answers with an error, reask asks the model once more and names the place. The last two hold streams until they are good. Default: pass."`
	// EmptyCompletion is that of targets that do not set it: what an answer is that
	// holds neither text nor a call. "fail" (the default of all) makes it a failed
	// attempt, "pass" forwards it.
	EmptyCompletion string `yaml:"empty_completion" enum:"pass,fail" doc:"An answer with neither text nor a call: pass forwards it, fail makes it a failed attempt. Default: fail."`
	// History is what is done about broken calls in the conversation that a client
	// sends: "off", "report" or "repair". Upstreams refuse them, some for the rest of
	// the conversation. The default is "repair" for azure, qwen, moonshot and
	// anthropic, and "off" for openai and demo.
	History string `yaml:"history" enum:"off,report,repair" doc:"What is done about broken calls in the conversation that a client sends. Default: repair for azure, qwen, moonshot and anthropic, off for openai and demo."`
	// ToolInReasoning is that of targets that do not set it: what a call is that
	// the model wrote before its reasoning ended. "buffer" (the default of all) is a
	// call if the output ends with it, "end" is a call and the end of the reasoning,
	// "ignore" is reasoning.
	ToolInReasoning string `yaml:"tool_in_reasoning" enum:"buffer,end,ignore" doc:"A call before the reasoning ends: buffer makes it one if the output ends with it, end ends the reasoning with it, ignore leaves it as reasoning. Default: buffer."`
	// RawToolText asks the upstream of every target for the model's own text, so
	// that the parser has something to read. It needs Server.
	RawToolText bool `yaml:"raw_tool_text" eg:"true" doc:"Ask the upstream for the model's own text, with special tokens, calls unparsed. Needs server."`
}

// Timeouts are those of one attempt at an upstream.
type Timeouts struct {
	// Connect bounds the connection with its TLS handshake. Default 5s, 1ms to
	// 24h as all of them.
	Connect Duration `yaml:"connect" default:"5s" min:"1ms" max:"24h" doc:"Until the connection is established."`
	// FirstToken bounds the wait for the first piece of a stream. Default 60s.
	FirstToken Duration `yaml:"first_token" default:"60s" min:"1ms" max:"24h" doc:"Until the first chunk of a stream; comments are none."`
	// Idle bounds the wait between two pieces of a stream. Default 60s.
	Idle Duration `yaml:"idle" default:"60s" min:"1ms" max:"24h" doc:"Between two chunks of a stream."`
	// Comments bounds how long a stream goes on with comments alone, behind its first piece.
	// OpenRouter and others send them while a model thinks; they are no answer. Default 5m.
	Comments Duration `yaml:"comments" default:"5m" min:"1ms" max:"24h" doc:"For a stream that goes on with comments alone, behind its first chunk."`
	// Whole bounds an answer that is no stream, which is silent until it is complete: one that
	// hangs looks the same. Default half of Total, at least 5m.
	Whole Duration `yaml:"whole" eg:"5m" min:"1ms" max:"24h" doc:"For an answer that is no stream. Default: half of total, at least 5m."`
	// Total bounds the whole attempt. Default 10m. One that is written may not be
	// more than [Config.Timeout], which would cut it short.
	Total Duration `yaml:"total" default:"10m" min:"1ms" max:"24h" doc:"For the whole attempt; not more than timeout at the top of the file."`
}

// Retry says when a failed attempt is made once more. Retries, and attempts at
// other targets, share the time of [Config.Timeout].
type Retry struct {
	// MaxRetries is how often an attempt is repeated that ended with status 429 or
	// 5xx, ran into a timeout or got no connection. Default 0, 0 to 10. At 0 only a
	// 429 is, once, if its answer says when.
	MaxRetries int `yaml:"max_retries" eg:"2" default:"0" min:"0" max:"10" doc:"How often an attempt is retried after status 429 or 5xx, a timeout or a failed connection. At 0 only a 429 that says when to come back is retried, once."`
	// BaseDelay is the wait before the first retry, doubled for each further one,
	// where the upstream does not say how long. Default 1s, 1ms to 1m.
	BaseDelay Duration `yaml:"base_delay" default:"1s" min:"1ms" max:"1m" doc:"Wait before the first retry, doubled for each further one, unless the upstream says how long to wait."`
	// MaxDelay bounds each wait. Default 60s, 1ms to 10m, not less than BaseDelay.
	MaxDelay Duration `yaml:"max_delay" default:"60s" min:"1ms" max:"10m" doc:"Longest wait; not less than base_delay."`
}

// CircuitBreaker says when a failing provider is left alone.
type CircuitBreaker struct {
	// FailureThreshold is how many attempts in a row fail before the provider is
	// left alone. Default 5, 1 to 1000. Limits (429), refused requests and clients
	// that left do not count.
	FailureThreshold int `yaml:"failure_threshold" default:"5" min:"1" max:"1000" doc:"How many attempts in a row fail before the provider is left alone."`
	// OpenTimeout is how long, before one request tries it again. Default 60s, 1ms
	// to 1h.
	OpenTimeout Duration `yaml:"open_timeout" default:"60s" min:"1ms" max:"1h" doc:"How long it is left alone before one request tries it again."`
}

// Hints returns what a provider can be told about the beginning of a prompt: "none", "key"
// or "marks". It is the provider's own PromptCacheHints, or the default of its type. Of
// type openai only OpenAI itself has a default: other servers may refuse a field that they
// do not know.
func (c *Config) Hints(provider string) string {
	pr := c.Providers[provider]
	if own := pr.PromptCacheHints; own != "" {
		return own
	}
	if pr.Type == "openai" && isOpenAI(pr.BaseURL) {
		return "key"
	}
	if taken := adapters[pr.Type].hints; len(taken) > 0 {
		return taken[0]
	}
	return "none"
}

// NativeResponses reports whether the upstream gets requests for responses as they are.
func (p *Provider) NativeResponses() bool {
	return p.Responses == "native" || p.Responses == "" && p.Type == "openai" && isOpenAI(p.BaseURL)
}

// isOpenAI reports whether an address is OpenAI's own, of any region.
func isOpenAI(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	const host = "api.openai.com"
	name := strings.ToLower(u.Hostname())
	return name == host || strings.HasSuffix(name, "."+host)
}

// checkHints refuses what a type's adapter or vendor would not take.
func checkHints(r *report, p path, pr Provider) {
	known, ok := adapters[pr.Type]
	if ok && pr.PromptCacheHints != "" && !slices.Contains(known.hints, pr.PromptCacheHints) {
		r.add(p, "type %s does not take %s; write %s", pr.Type, pr.PromptCacheHints, strings.Join(known.hints, " or "))
	}
}
