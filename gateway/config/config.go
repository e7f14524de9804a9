package config

// The tags of a field: yaml is its key; doc describes it in the schema; default
// is used where the file says nothing; min and max bound a number, size or
// duration, where one without a default is 0 until written; enum lists the words allowed; eg is the example that an error shows;
// required marks a key without a sensible default; restart one that is read at the start of the
// process only, with all below it.

// Config is the whole file. [Parse], [Load] and [FromEnv] make one.
type Config struct {
	// Listen is the address to serve on, host:port. Default 127.0.0.1:8080. An
	// address that other machines can reach needs Keys.
	Listen string `yaml:"listen" default:"127.0.0.1:8080" restart:"true" doc:"Address to serve on, host:port. An address that other machines can reach needs keys."`
	// Reload says what has the file read again while the gateway runs: "auto" (default) a change of
	// its content, SIGHUP and the admin API, "signal" the last two, "off" nothing.
	Reload string `yaml:"reload" default:"auto" enum:"auto,signal,off" doc:"When a running gateway reads this file again. auto: a change of its content, SIGHUP, and POST /admin/reload; signal: SIGHUP and POST /admin/reload; off: nothing."`
	// ShutdownTimeout is how long running requests may finish after SIGTERM.
	// Default 30s, 0s to 1h.
	ShutdownTimeout Duration `yaml:"shutdown_timeout" default:"30s" min:"0s" max:"1h" doc:"How long running requests may finish after SIGTERM."`
	// ShutdownDelay is how long after SIGTERM requests are still taken, while /readyz says that
	// the gateway ends: load balancers need that long to look elsewhere. It is a part of
	// ShutdownTimeout, and after Ctrl-C there is none. Default 5s, 0s to 10m.
	ShutdownDelay Duration `yaml:"shutdown_delay" default:"5s" min:"0s" max:"10m" doc:"How long after SIGTERM requests are still accepted, while /readyz answers 503; part of shutdown_timeout. Skipped after Ctrl-C."`
	// Timeout bounds a request over all its attempts, the waits between them and
	// the whole of a stream. Default 15m, 1s to 24h.
	Timeout Duration `yaml:"timeout" default:"15m" min:"1s" max:"24h" doc:"Time limit of a request with all its attempts, to the end of its answer."`
	// Heartbeat is how long a stream may say nothing before its client gets a
	// comment, which keeps proxies in between from closing it. Default 15s, 0s to
	// 5m; 0s sends none.
	Heartbeat Duration `yaml:"heartbeat" default:"15s" min:"0s" max:"5m" doc:"After this long without output, send a comment to a stream's client; 0s sends none."`
	// CacheSalt is the secret that keeps apart what clients have sent, for routing by
	// prefix and for answers that are kept. Gateways with the same one send a new prompt to
	// the same target, and share answers in Redis. Default: one made at the start.
	CacheSalt Secret `yaml:"cache_salt" restart:"true" eg:"${CALLGATE_CACHE_SALT}" doc:"Secret that keeps clients' prompts apart, for routing: prefix and answer_cache. Gateways with the same one agree about new prompts, and can open reasoning that another one sealed for a client. Default: a new one at each start."`
	// Redis is where gateways tell each other what they have learned, and keep answers.
	Redis Redis `yaml:"redis" restart:"true" eg:"{url: \"${REDIS_URL}\"}" doc:"Redis in which gateways share what they know about upstreams' caches (routing: prefix), limits, quality counts and answers (answer_cache: redis). It needs cache_salt."`
	// AnswerStore bounds the answers that are kept where AnswerCache is on.
	AnswerStore AnswerStore `yaml:"answer_store" restart:"true" eg:"{memory: 64MiB, largest: 1MiB}" doc:"Bounds of the answers that are kept where answer_cache is on."`
	// Store is where responses and conversations are kept that clients name again.
	Store Store `yaml:"store" restart:"true" eg:"{kind: sqlite, path: ./callgate.db}" doc:"Where responses and conversations are kept, to which clients refer by previous_response_id, conversation and item_reference."`
	// Prices is the file with the prices of models, for the ledger of usage and the accounts of what prompt
	// caches save. Default: those that are built in, which are mostly shares and no money.
	Prices string `yaml:"prices" eg:"./prices.yaml" doc:"File with the prices of models, for the usage ledger, budgets, and what prompt caches save. Default: a built-in file, with mostly ratios and few prices."`
	// Usage is the ledger of what answers have used and cost.
	Usage Usage `yaml:"usage" restart:"true" eg:"{store: sqlite, path: ./usage.db}" doc:"Ledger of what upstreams' answers used and cost."`
	// Limits bound what a client may send.
	Limits Limits `yaml:"limits" eg:"{body: 32MiB}" doc:"Bounds on what a client may send."`
	// Passthrough are paths below /v1 that go to one provider as they are, by path: what is
	// kept there (files, batches) has no model to route by. Default: none.
	Passthrough map[string]string `yaml:"passthrough" eg:"{/v1/files: openai, /v1/batches: openai}" doc:"Paths below /v1 whose requests, and those to everything below them, go to one provider unchanged; for things that are kept there, such as files and batches. All clients share the provider's key. Default: none."`
	// Keys are the bearer keys that clients may use. None means that everybody
	// who can connect is let in, which is allowed on loopback only.
	Keys []Key `yaml:"keys" eg:"[{name: dev, hash: \"${CALLGATE_KEY_HASH}\"}]" doc:"Keys that clients may use. Without any, the gateway must listen on loopback."`
	// RequireKeys lets nobody in without a key, also while Keys is empty: for keys that are made at
	// run time, which need it where Keys is empty. Default false.
	RequireKeys bool `yaml:"require_keys" omit:"true" eg:"true" doc:"Let nobody in without a key, even while keys is empty: for keys that are created at run time (callgate key create), which need a store of kind sqlite or postgres. Default: false."`
	// CORSOrigins are the web pages that may ask from within a browser. Default: none.
	CORSOrigins []string `yaml:"cors_origins" omit:"true" eg:"[https://app.example]" doc:"Origins of web pages that may ask the gateway from within a browser and read its answers, such as https://app.example or http://localhost:5173; * is any page, where keys are asked for. A key in a page is known to all who can open it. Default: none."`
	// TrustedProxies are the networks of proxies whose X-Forwarded-For is believed. Default: none.
	TrustedProxies []string `yaml:"trusted_proxies" omit:"true" eg:"[10.0.0.5, 10.0.1.0/24]" doc:"Networks of the load balancers and proxies in front of the gateway, whose X-Forwarded-For says where a request comes from, for a key's cidr. List these alone, and no network with clients in it. Default: none; the address that connects is looked at."`
	// Teams are groups of keys, by a name of your choice. Default: none.
	Teams map[string]Team `yaml:"teams" omit:"true" eg:"{search: {models: [fast], max_tokens: 4096}}" doc:"Groups of keys, by a name of your choice; a team's rules apply to each of its keys, beside the key's own. Default: none."`
	// KeyLimits are the limits of each key that has none of its own, and of all requests together where there are no
	// keys. Default: none.
	KeyLimits []Limit `yaml:"key_limits" omit:"true" eg:"[{requests: 60, per: 1m}]" doc:"Limits of each key that has no limits of its own; without keys, of all requests together. Default: none."`
	// AssumePrice is what models without a price are taken to cost, for budgets in USD. Default: such a
	// model is a mistake where there is such a budget.
	AssumePrice AssumedPrice `yaml:"assume_price" omit:"true" eg:"{input: 5, output: 15}" doc:"Price of models that prices lacks, in US dollars per million tokens. Default: nothing is assumed, and a budget in usd needs the price of every model."`
	// Providers are the upstreams, by a name of your choice. A file with neither
	// Providers nor Models gets those of [FromEnv].
	Providers map[string]Provider `yaml:"providers" eg:"{local: {type: openai, base_url: http://127.0.0.1:8000/v1}}" doc:"Upstreams by a name of your choice."`
	// Defaults is the behaviour of models that do not set a key themselves, and of
	// requests for "provider/model".
	Defaults Route `yaml:"defaults" eg:"{guard: enforce}" doc:"Behaviour of models that do not set a key themselves, and of requests for provider/model."`
	// Models maps the names that clients use to targets. A "*" in a name stands for any
	// text, "/" included. An exact name wins over all, and among patterns the one with the
	// most bytes besides stars, then with the fewest stars, then the first in the order of
	// bytes. A model that has no entry but "*", or a pattern without a "/", can also be
	// asked for as "provider/model".
	Models map[string]Model `yaml:"models" eg:"{\"*\": {targets: [{provider: local}]}}" doc:"Names that clients use. A * in one stands for any text; an exact name wins, then the pattern with the most bytes besides *."`
	// Rollouts try changes on a part of the requests. Default: none.
	Rollouts []Rollout `yaml:"rollouts" omit:"true" eg:"[{name: hermes, unit: user, arms: [{name: control, weight: 90}, {name: new, weight: 10, override: {parser: hermes}}]}]" doc:"Changes that are tried on part of the requests; a request is in the first whose match it meets. Default: none."`
	// Parsers declares formats of your own, by name.
	Parsers map[string]CustomParser `yaml:"parsers" eg:"{my_format: {start: \"<<call \", end: \">>\"}}" doc:"Your own formats by name, read by the built-in parser \"custom\"."`
	// ToolServers are the servers whose tools the gateway runs, by a name of your choice: 1 to 32
	// of a-z, A-Z, 0-9, - and _, with no two _ in a row. Default: none.
	ToolServers map[string]ToolServer `yaml:"tool_servers" omit:"true" eg:"{github: {type: mcp, url: https://mcp.example/mcp}}" doc:"Servers whose tools the gateway runs, by a name of your choice; models see a tool as server__tool. Default: none."`
	// ToolPins is the lock file that callgate tools pin writes. Default callgate.tools.lock
	// beside the configuration; "off" reads none.
	ToolPins string `yaml:"tool_pins" omit:"true" eg:"./callgate.tools.lock" doc:"Lock file that callgate tools pin writes: if it exists, a tool that is new or has changed is left out until it is pinned. Default: callgate.tools.lock beside this file; off reads none."`
	// ReasoningField is the field of a message that reasoning is written to,
	// "reasoning_content" or "reasoning". Default: what the gateway splits off goes
	// to "reasoning_content", and an upstream's own stays where it is.
	ReasoningField string `yaml:"reasoning_field" enum:"reasoning_content,reasoning" doc:"Field of a message for reasoning; an upstream's own is renamed if it uses the other one. Default: reasoning_content for what the gateway splits off, and an upstream's own as it comes."`
	// Plugins says where WebAssembly plugins are and what they may use.
	Plugins Plugins `yaml:"plugins" restart:"true" eg:"{dir: ./plugins.d}" doc:"Where WebAssembly plugins are and what they may use."`
	// Admin is the listener for operators.
	Admin Admin `yaml:"admin" eg:"{listen: 127.0.0.1:8081}" doc:"Listener for operators, with /metrics, /admin and /ui."`
	// Tracing says where traces go.
	Tracing Tracing `yaml:"tracing" restart:"true" eg:"{endpoint: http://127.0.0.1:4318}" doc:"Where OpenTelemetry traces are sent."`
	// Log says what is logged and how.
	Log Log `yaml:"log" eg:"{level: info}" doc:"What is logged, and how."`

	// src remembers where each value was written. It stays behind a pointer so
	// that printing a Config cannot print what is in it.
	src *source
}

// Limits bound what a client may send.
type Limits struct {
	// Body is the largest request body. Default 32MiB, 1B to 1GiB.
	Body Size `yaml:"body" default:"32MiB" min:"1B" max:"1GiB" doc:"Largest request body."`
	// Upload is the largest form with files (audio, images), which is kept in a file while
	// it is sent on. Default 100MiB, 1B to 4GiB.
	Upload Size `yaml:"upload" default:"100MiB" min:"1B" max:"4GiB" doc:"Largest form with files, as audio and images are sent; it is kept in a temporary file."`
	// Uploads is the room in temporary files for all such forms together, at least twice Upload.
	// Default: ten times Upload; 1MiB to 1024GiB.
	Uploads Size `yaml:"uploads" eg:"1000MiB" min:"1MiB" max:"1024GiB" doc:"Room in temporary files for all such forms in progress, at least twice upload. Default: ten times upload."`
	// Memory is for all requests in progress: four times their bytes, and those of answers that
	// are held. One request has at most a half of it. Default: half of GOMEMLIMIT where that is
	// set, else a quarter of the machine's memory or of the control group's; 1MiB to 1024GiB.
	Memory Size `yaml:"memory" eg:"1GiB" min:"1MiB" max:"1024GiB" doc:"Memory for all requests in progress: four times their bytes, and those of answers that are held. One request has at most a half of it. Default: half of GOMEMLIMIT where that is set, else a quarter of the machine's or the container's memory."`
	// Values is how many values a request may have: members, elements, objects and lists.
	// Default 200000, 100 to 100000000.
	Values int `yaml:"values" default:"200000" min:"100" max:"100000000" doc:"How many values a request may have: members, elements, objects and lists."`
	// Messages is how many messages a request may have. Default 10000, 1 to 10000000.
	Messages int `yaml:"messages" default:"10000" min:"1" max:"10000000" doc:"How many messages a request may have."`
	// Calls is how many calls of tools there may be in all messages. Default 10000, 1 to
	// 10000000.
	Calls int `yaml:"calls" default:"10000" min:"1" max:"10000000" doc:"How many calls of tools there may be in all messages of a request."`
	// Tools bound the tools of a request.
	Tools ToolLimits `yaml:"tools" eg:"{count: 1024, size: 4MiB}" doc:"Bounds on the tools of a request."`
}

// ToolLimits bound the tools of a request.
type ToolLimits struct {
	// Count is how many tools a request may offer. Default 1024, 1 to 100000.
	Count int `yaml:"count" default:"1024" min:"1" max:"100000" doc:"How many tools a request may offer."`
	// Size is how large the list of tools may be. Default 4MiB, 1KiB to 1GiB.
	Size Size `yaml:"size" default:"4MiB" min:"1KiB" max:"1GiB" doc:"Largest list of tools."`
	// Depth is how deep a tool may nest, objects and lists alike. Default 64, 4 to 128.
	Depth int `yaml:"depth" default:"64" min:"4" max:"128" doc:"How deep a tool may nest, objects and lists alike."`
	// Properties is how many properties and definitions the schemas of all tools of a request may
	// have. Default 10000, 1 to 1000000.
	Properties int `yaml:"properties" default:"10000" min:"1" max:"1000000" doc:"How many properties and definitions the schemas of all tools of a request may have."`
}

// Key is a bearer key that a client may use.
type Key struct {
	// Name says in logs whose key it is: 1 to 64 printable characters, unique.
	Name string `yaml:"name" required:"true" eg:"dev" doc:"Name of the key in logs; unique."`
	// Hash is the key's SHA-256 as [HashKey] writes it, so that the file need not
	// hold the key. It is kept secret too: a short key could be guessed from it.
	Hash Secret `yaml:"hash" required:"true" eg:"${CALLGATE_KEY_HASH}" doc:"\"sha256:\" and the 64 hex digits of the key's SHA-256."`
	// Tools are patterns of the tools of ToolServers that the key may use, as server__tool.
	// Default: all. An empty list is none.
	Tools []string `yaml:"tools" omit:"true" eg:"[github__search_*, weather__*]" doc:"Tools of tool_servers that the key may use, as server__tool with * for any text; an empty list is none. Default: all."`
	// Team is one of Teams. Default: none.
	Team string `yaml:"team" omit:"true" eg:"search" doc:"One of teams, whose scopes and limits apply to the key too. Default: none."`
	// Models are patterns of the models that the key may ask for. Default: all. An empty list is none.
	Models []string `yaml:"models" omit:"true" eg:"[gpt-4o*, fast]" doc:"Models that the key may ask for, by the names that clients use, with * for any text; an empty list is none. Default: all."`
	// CIDR are the networks that requests with the key may come from. Default: all.
	CIDR []string `yaml:"cidr" omit:"true" eg:"[10.0.0.0/8]" doc:"Networks that requests with the key may come from, by the address that connects, or that trusted_proxies forward. Default: all."`
	// MaxTokens is the most output tokens that a request may ask for, 1 to 10000000. Default: no limit.
	MaxTokens int `yaml:"max_tokens" omit:"true" eg:"4096" min:"1" max:"10000000" doc:"Most output tokens that a request may ask for, all its choices together. A request that says nothing gets this. Default: no limit."`
	// Expires is when the key ends: RFC 3339, or a date, which is its first moment in UTC. Default: never.
	Expires string `yaml:"expires" omit:"true" eg:"2027-01-31" doc:"When the key expires: a time, such as 2027-01-31T18:00:00Z, or a date, at its first moment in UTC. Default: never."`
	// Previous are the key's hashes from before it was rotated.
	Previous []PreviousKey `yaml:"previous" omit:"true" eg:"[{hash: \"${CALLGATE_OLD_KEY_HASH}\", until: 2027-01-31}]" doc:"Hashes of the key before it was rotated, which are still accepted for some time. Default: none."`
	// Blocked keys are refused.
	Blocked bool `yaml:"blocked" omit:"true" eg:"true" doc:"Refuse the key. Default false."`
	// Labels stand in rows of usage.
	Labels map[string]string `yaml:"labels" omit:"true" eg:"{app: search}" doc:"Labels for rows of usage; they override the team's. Default: none."`
	// Limits are the key's own. Its team's and its model's hold besides. Default: KeyLimits.
	Limits []Limit `yaml:"limits" omit:"true" eg:"[{usd: 10, per: month}]" doc:"Limits of the key; those of its team and of the model hold besides. An empty list is none. Default: key_limits."`
	// Arms are the arms of rollouts that the key may choose by a header, as rollout/arm. Default: none.
	Arms []string `yaml:"arms" omit:"true" eg:"[new-model/*]" doc:"Arms of rollouts that the key may choose by a header, as rollout/arm with * for any text. Default: none."`
}

// Admin is the listener for operators, apart from that for clients: it serves
// /metrics and /admin/breakers.
type Admin struct {
	// Listen is the address to serve on, host:port, or "off". Default
	// 127.0.0.1:8081. An address that other machines can reach needs KeyHash. See
	// [Config.AdminGiven] for what is done if it is taken.
	Listen string `yaml:"listen" default:"127.0.0.1:8081" restart:"true" doc:"Address to serve on, host:port, other than listen; off serves none. An address that other machines can reach needs key_hash."`
	// KeyHash is the hash of the operators' bearer key, as [HashKey] writes it.
	// Without one everybody who can connect is let in, which is allowed on loopback
	// only.
	KeyHash Secret `yaml:"key_hash" eg:"${CALLGATE_ADMIN_KEY_HASH}" doc:"Hash of the operator's key, as callgate key prints it. Without one, the admin listener must be on loopback."`
	// OIDC signs operators in at an identity provider, for /ui.
	OIDC OIDC `yaml:"oidc" omit:"true" eg:"{issuer: https://login.example, client_id: callgate, redirect_url: https://callgate.example/ui/oidc/callback, roles: {operator: [platform]}}" doc:"Identity provider at which operators sign in for /ui. Default: none."`
	// Content keeps what requests say that were not clean, for operators at /ui.
	Content Content `yaml:"content" omit:"true" eg:"{keep: 1h}" doc:"Keep the content of requests that were not clean, for operators at /ui. Default: nothing is kept."`
}

// Content says how long the text of requests is kept that were not clean.
type Content struct {
	// Keep is how long. Default 0s: nothing is kept. At most 24h.
	Keep Duration `yaml:"keep" eg:"1h" default:"0s" min:"0s" max:"24h" doc:"How long to keep it; 0 keeps nothing. Everybody with the role operator can read it."`
	// Memory is what all of it takes. Default 16MiB, 1MiB to 1GiB.
	Memory Size `yaml:"memory" default:"16MiB" min:"1MiB" max:"1GiB" doc:"Memory for all of it; the oldest makes room. Of each text the first and the last 16 KiB are kept."`
}

// Tracing says where traces go.
type Tracing struct {
	// Endpoint is the base URL of an OTLP/HTTP collector. Default "": no traces.
	Endpoint string `yaml:"endpoint" eg:"http://127.0.0.1:4318" doc:"Base URL of an OTLP/HTTP collector. Default: no traces."`
	// Sample is the share of requests that are traced. Default 1, 0 to 1.
	Sample float64 `yaml:"sample" eg:"0.1" default:"1" min:"0" max:"1" doc:"Share of requests that are traced."`
	// Headers are added to every request to the collector. Their values count as
	// secrets.
	Headers map[string]Secret `yaml:"headers" eg:"{X-Team: a}" doc:"Headers added to every request to the collector; their values count as secrets."`
}

// Log says what is logged and how.
type Log struct {
	// Level is the least that is logged: "debug", "info" (default), "warn" or
	// "error".
	Level string `yaml:"level" default:"info" enum:"debug,info,warn,error" doc:"Lowest level that is logged."`
	// Format is "json", "text" (key=value), or "auto" (default): lines for people where standard
	// error is a terminal, and json elsewhere and with Prefix.
	Format string `yaml:"format" restart:"true" default:"auto" enum:"auto,json,text" doc:"Format of the log: json, text (key=value), or auto: readable lines if standard error is a terminal, else json."`
	// Prefix adds to each request's line what "callgate export-trace" makes a trace of:
	// keyed hashes of its prompt's blocks, and its tokens. It needs the level info or debug,
	// and not the format text. The hashes of two runs only agree with the same CacheSalt.
	Prefix bool `yaml:"prefix" restart:"true" eg:"true" doc:"Add to each request's line what callgate export-trace reads: keyed hashes of its prompt's blocks, and its tokens. Needs level info or debug, and not format text."`
}
