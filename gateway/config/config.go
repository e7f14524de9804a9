package config

// The tags of a field: yaml is its key; doc describes it in the schema; default
// is used where the file says nothing; min and max bound a number, size or
// duration; enum lists the words allowed; eg is the example that an error shows;
// required marks a key without a sensible default.

// Config is the whole file. [Parse], [Load] and [FromEnv] make one.
type Config struct {
	// Listen is the address to serve on, host:port. Default 127.0.0.1:8080. An
	// address that other machines can reach needs Keys.
	Listen string `yaml:"listen" default:"127.0.0.1:8080" doc:"Address to serve on, host:port. An address that other machines can reach needs keys."`
	// ShutdownTimeout is how long running streams may finish after SIGTERM.
	// Default 30s, 0s to 1h.
	ShutdownTimeout Duration `yaml:"shutdown_timeout" default:"30s" min:"0s" max:"1h" doc:"How long running streams may finish after SIGTERM."`
	// Limits bound what a client may send.
	Limits Limits `yaml:"limits" eg:"{body: 32MiB}" doc:"Bounds on what a client may send."`
	// Keys are the bearer keys that clients may use. None means that everybody
	// who can connect is let in, which is allowed on loopback only.
	Keys []Key `yaml:"keys" eg:"[{name: dev, hash: \"${CALLGATE_KEY_HASH}\"}]" doc:"Bearer keys that clients may use. None is allowed on loopback only."`
	// Providers are the upstreams, by a name of your choice. A file with neither
	// Providers nor Models gets those of [FromEnv].
	Providers map[string]Provider `yaml:"providers" eg:"{local: {type: openai, base_url: http://127.0.0.1:8000/v1}}" doc:"Upstreams by a name of your choice."`
	// Models maps the names that clients use to targets. A name that ends in "*"
	// stands for every name with that prefix; the longest one wins, and an exact
	// name wins over all. A model that has no entry but "*" can also be asked for as
	// "provider/model".
	Models map[string]Model `yaml:"models" eg:"{\"*\": {targets: [{provider: local}]}}" doc:"Names that clients use. One that ends in * stands for every name with that prefix; the longest wins, an exact name first."`
	// Parsers declares formats of your own, by name.
	Parsers map[string]CustomParser `yaml:"parsers" eg:"{my_format: {start: \"<<call \", end: \">>\"}}" doc:"Formats of your own by name, read by the built-in parser \"custom\"."`
	// ReasoningField is the field of a message that reasoning is written to,
	// "reasoning_content" or "reasoning". Default: what the gateway splits off goes
	// to "reasoning_content", and an upstream's own stays where it is.
	ReasoningField string `yaml:"reasoning_field" enum:"reasoning_content,reasoning" doc:"Field of a message that reasoning is written to; an upstream's own is renamed if it uses the other. Default: reasoning_content for what the gateway splits off, and an upstream's own as it comes."`
	// Plugins says where WebAssembly plugins are and what they may use.
	Plugins Plugins `yaml:"plugins" eg:"{dir: ./plugins.d}" doc:"Where WebAssembly plugins are and what they may use."`
	// Log says what is logged and how.
	Log Log `yaml:"log" eg:"{level: info}" doc:"What is logged and how."`

	// src remembers where each value was written. It stays behind a pointer so
	// that printing a Config cannot print what is in it.
	src *source
}

// Limits bound what a client may send.
type Limits struct {
	// Body is the largest request body. Default 32MiB, 1B to 1GiB.
	Body Size `yaml:"body" default:"32MiB" min:"1B" max:"1GiB" doc:"Largest request body."`
}

// Key is a bearer key that a client may use.
type Key struct {
	// Name says in logs whose key it is: 1 to 64 printable characters, unique.
	Name string `yaml:"name" required:"true" eg:"dev" doc:"Says in logs whose key it is; unique."`
	// Hash is the key's SHA-256 as [HashKey] writes it, so that the file need not
	// hold the key. It is kept secret too: a short key could be guessed from it.
	Hash Secret `yaml:"hash" required:"true" eg:"${CALLGATE_KEY_HASH}" doc:"\"sha256:\" and the 64 hex digits of the key's SHA-256."`
}

// Provider is an upstream, and the defaults of the targets that use it.
type Provider struct {
	// Type is the adapter: "openai" for anything that speaks OpenAI's chat
	// completions, "demo" for the built-in one without a network. Required.
	Type string `yaml:"type" enum:"openai,demo" required:"true" doc:"Adapter: openai for anything that speaks OpenAI's chat completions, demo for the built-in one."`
	// BaseURL is where the upstream's paths begin, with its "/v1". Required for
	// type openai, refused for demo, as are APIKey and Headers.
	BaseURL string `yaml:"base_url" eg:"http://127.0.0.1:8000/v1" doc:"Where the upstream's paths begin, with its /v1. Required for type openai."`
	// APIKey is sent as the bearer key. Left out, none is sent.
	APIKey Secret `yaml:"api_key" eg:"${OPENAI_API_KEY}" doc:"Bearer key for the upstream. Left out, none is sent."`
	// Server is the upstream's software, which RawToolText needs to know: "vllm",
	// "sglang" or "llama.cpp".
	Server string `yaml:"server" enum:"vllm,sglang,llama.cpp" doc:"The upstream's software, which raw_tool_text needs to know."`
	// Headers are added to every request. Their values count as secrets, since
	// some upstreams are authorized by one.
	Headers map[string]Secret `yaml:"headers" eg:"{X-Team: a}" doc:"Headers added to every request; their values count as secrets."`
	// Timeouts are those of one attempt.
	Timeouts Timeouts `yaml:"timeouts" eg:"{connect: 5s, total: 10m}" doc:"Timeouts of one attempt."`
	// MaxResponse is the largest response read. Default 64MiB, 1B to 1GiB.
	MaxResponse Size `yaml:"max_response" default:"64MiB" min:"1B" max:"1GiB" doc:"Largest response read."`
	// Parser is that of targets that name none: a name, a list of names, "auto"
	// or "none". The default is "none" for type openai, whose bytes pass through,
	// and "auto" for demo.
	Parser Parsers `yaml:"parser" eg:"auto" doc:"Parser of targets that name none: a name, a list of names, auto or none. Default: none for type openai, auto for demo."`
	// Reasoning is that of targets that do not set it: "auto", "open", "closed"
	// or "none". The default is "auto" with a parser and "none" without.
	Reasoning string `yaml:"reasoning" enum:"auto,open,closed,none" doc:"State of the reasoning where the text begins. Default: auto with a parser, none without."`
	// ToolCalls is that of targets that do not set it: "off", "report" or
	// "repair". The default is "repair" with a parser and "off" without.
	ToolCalls string `yaml:"tool_calls" enum:"off,report,repair" doc:"What is done to tool calls. Default: repair with a parser, off without."`
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
	Connect Duration `yaml:"connect" default:"5s" min:"1ms" max:"24h" doc:"Until the connection stands."`
	// FirstToken bounds the wait for the first bytes of an answer. Default 60s.
	FirstToken Duration `yaml:"first_token" default:"60s" min:"1ms" max:"24h" doc:"Until the first bytes of the answer."`
	// Idle bounds the wait between two pieces of a stream. Default 60s.
	Idle Duration `yaml:"idle" default:"60s" min:"1ms" max:"24h" doc:"Between two pieces of a stream."`
	// Total bounds the whole attempt. Default 10m.
	Total Duration `yaml:"total" default:"10m" min:"1ms" max:"24h" doc:"For the whole attempt."`
}

// Model is a name that clients use.
type Model struct {
	// Targets are tried in this order; at least one.
	Targets []Target `yaml:"targets" required:"true" eg:"[{provider: local}]" doc:"Where requests for the model go, in order of preference."`
}

// Target is a model of a provider, as it was written. [Config.Targets] gives it
// with its defaults filled in.
type Target struct {
	// Provider is the name of one of the providers. Required.
	Provider string `yaml:"provider" required:"true" eg:"local" doc:"Name of one of the providers."`
	// Model is the upstream's name of the model. Default: the name that the
	// client used.
	Model string `yaml:"model" eg:"Qwen/Qwen3-32B" doc:"The upstream's name of the model. Default: the name that the client used."`
	// Parser is as in [Provider]. Default: the provider's.
	Parser Parsers `yaml:"parser" eg:"hermes" doc:"A parser's name, a list of names, auto or none. Default: the provider's."`
	// Reasoning is as in [Provider]. Default: the provider's, but "none" where
	// Parser is "none".
	Reasoning string `yaml:"reasoning" enum:"auto,open,closed,none" doc:"State of the reasoning where the text begins. Default: the provider's, but none where parser is none."`
	// ToolCalls is as in [Provider]. Default: the provider's, but "off" where
	// Parser is "none".
	ToolCalls string `yaml:"tool_calls" enum:"off,report,repair" doc:"What is done to tool calls. Default: the provider's, but off where parser is none."`
	// ToolInReasoning is as in [Provider]. Default: the provider's.
	ToolInReasoning string `yaml:"tool_in_reasoning" enum:"buffer,end,ignore" doc:"What a call is that stands in open reasoning. Default: the provider's."`
	// RawToolText is as in [Provider]. The provider's true is true for all targets.
	RawToolText bool `yaml:"raw_tool_text" eg:"true" doc:"Ask the upstream for the model's own text. Needs the provider's server."`
}

// CustomParser is a text format of tool calls that needs no code: markers around
// JSON, or a model's own response_template.
type CustomParser struct {
	// ResponseTemplate is the file of a Hugging Face response_template, or of a
	// tokenizer_config.json that holds one. Start and the rest have no meaning then.
	ResponseTemplate string `yaml:"response_template" eg:"./tokenizer_config.json" doc:"File with a Hugging Face response_template, or a tokenizer_config.json that holds one. It stands instead of start and the rest."`
	// Start is the marker before a call, at least 2 bytes. Required without
	// ResponseTemplate.
	Start string `yaml:"start" eg:"\"<<call \"" doc:"Marker before a call, at least 2 bytes. Required without response_template."`
	// End is the marker after a call. Default "": the call ends with its JSON.
	End string `yaml:"end" eg:"\">>\"" doc:"Marker after a call. Default: the call ends with its JSON."`
	// Body is what stands between them: "json" (default), one object with name
	// and arguments, or "name_json", the name and then an object of arguments.
	Body string `yaml:"body" default:"json" enum:"json,name_json" doc:"What stands between: json, an object with name and arguments; name_json, the name and then the arguments."`
	// NameKey is the key of the name in a body "json". Default "name".
	NameKey string `yaml:"name_key" default:"name" doc:"Key of the name in a body json."`
	// ArgumentsKey is the key of the arguments in a body "json". Default
	// "arguments".
	ArgumentsKey string `yaml:"arguments_key" default:"arguments" doc:"Key of the arguments in a body json."`
	// Separator stands between name and arguments in a body "name_json".
	// Default "".
	Separator string `yaml:"separator" eg:"\": \"" doc:"Stands between name and arguments in a body name_json."`
	// Priority orders the parsers that "auto" tries, highest first. Default 25, 1
	// to 100.
	Priority int `yaml:"priority" default:"25" min:"1" max:"100" doc:"Order in which auto tries parsers, highest first."`
	// Models are name patterns for which "auto" tries this parser first.
	Models []string `yaml:"models" eg:"[\"my-*\"]" doc:"Names of models, with *, for which auto tries this parser first."`
}

// Plugins says where WebAssembly plugins are and what they may use.
type Plugins struct {
	// Dir holds the plugins, *.wasm, relative to the working directory. Default
	// ./plugins.d, which need not exist; "" loads none.
	Dir string `yaml:"dir" default:"./plugins.d" doc:"Directory of *.wasm files, relative to the working directory; it need not exist. \"\" loads none."`
	// CacheDir keeps compiled code. Default "": a directory in the user's cache
	// directory; "off" keeps none.
	CacheDir string `yaml:"cache_dir" eg:"/var/cache/callgate" doc:"Directory for compiled code. Default: one in the user's cache directory; off keeps none."`
	// Isolation is what one response may leave in a plugin's memory for the next:
	// "reset" (default) nothing, as each starts from a clean instance; "pooled"
	// all of it, which is faster, for plugins that you trust.
	Isolation string `yaml:"isolation" default:"reset" enum:"reset,pooled" doc:"reset starts every response from a clean instance; pooled leaves memory as it was, faster, for plugins that you trust."`
	// Limits are those of one plugin.
	Limits PluginLimits `yaml:"limits" eg:"{time: 100ms, memory: 32MiB}" doc:"What one plugin may use."`
	// Quarantine says when a failing plugin is left out.
	Quarantine Quarantine `yaml:"quarantine" eg:"{failures: 5, open: 60s}" doc:"When a failing plugin is left out."`
}

// PluginLimits are what one plugin may use.
type PluginLimits struct {
	// Input is the most text that one response may feed in. Default 1MiB, 1B to
	// 1GiB.
	Input Size `yaml:"input" default:"1MiB" min:"1B" max:"1GiB" doc:"Most text that one response may feed in."`
	// Time bounds one call into the plugin. Default 100ms, 1ms to 1m.
	Time Duration `yaml:"time" default:"100ms" min:"1ms" max:"1m" doc:"For one call into the plugin."`
	// Total bounds all calls for one response. Default 1s, 1ms to 10m, not less
	// than Time.
	Total Duration `yaml:"total" default:"1s" min:"1ms" max:"10m" doc:"For all calls of one response; not less than time."`
	// Memory is the largest memory of an instance. Default 32MiB, 1MiB to 4GiB.
	Memory Size `yaml:"memory" default:"32MiB" min:"1MiB" max:"4GiB" doc:"Largest memory of an instance."`
	// Output is the most that a plugin may write for one response. Default 8MiB,
	// 1B to 1GiB.
	Output Size `yaml:"output" default:"8MiB" min:"1B" max:"1GiB" doc:"Most that a plugin may write for one response."`
	// Handles is how many handles an instance may have open. Default 16, 1 to 1024.
	Handles int `yaml:"handles" default:"16" min:"1" max:"1024" doc:"How many handles an instance may have open."`
	// Depth is how deep JSON may nest. Default 128, 1 to 1024.
	Depth int `yaml:"depth" default:"128" min:"1" max:"1024" doc:"How deep JSON may nest."`
}

// Quarantine says when a failing plugin is left out.
type Quarantine struct {
	// Failures is how many responses in a row fail before it is left out. Default 5, 1 to 1000.
	Failures int `yaml:"failures" default:"5" min:"1" max:"1000" doc:"How many responses in a row fail before a plugin is left out."`
	// Open is how long it is left out before it is tried again. Default 60s, 1ms
	// to 24h.
	Open Duration `yaml:"open" default:"60s" min:"1ms" max:"24h" doc:"How long before it is tried again."`
}

// Log says what is logged and how.
type Log struct {
	// Level is the least that is logged: "debug", "info" (default), "warn" or
	// "error".
	Level string `yaml:"level" default:"info" enum:"debug,info,warn,error" doc:"Least that is logged."`
	// Format is "json" (default) or "text".
	Format string `yaml:"format" default:"json" enum:"json,text" doc:"Form of a log line."`
}
