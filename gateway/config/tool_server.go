package config

// ToolServer is a server whose tools the gateway runs.
type ToolServer struct {
	// Type is "mcp" for the Model Context Protocol, or "http" for plain HTTP requests.
	Type string `yaml:"type" enum:"mcp,http" required:"true" doc:"mcp for a server of the Model Context Protocol, http for plain HTTP requests (requests)."`
	// URL is the endpoint of streamable HTTP, of type mcp. Either it or Command is there.
	URL string `yaml:"url" eg:"https://mcp.example/mcp" doc:"Endpoint of a server of type mcp over streamable HTTP; instead of command."`
	// Command is a program and its arguments, of type mcp over standard input and output. No
	// shell reads it, and it runs in a process group of its own.
	Command []string `yaml:"command" eg:"[npx, -y, \"@modelcontextprotocol/server-everything\"]" doc:"Program and arguments of a server of type mcp over standard input and output; instead of url. No shell reads them."`
	// Env are the variables that the command gets beside PATH, HOME, TMPDIR and those of the
	// language and time zone. No other variable of the gateway is passed on.
	Env map[string]Secret `yaml:"env" eg:"{TOKEN: \"${GITHUB_TOKEN}\"}" doc:"Variables of the command's environment, which has none of the gateway's but PATH, HOME, TMPDIR and those of language and time zone. Values count as secrets."`
	// Directory is where the command runs. Default: the gateway's own.
	Directory string `yaml:"directory" omit:"true" eg:"/srv/tools" doc:"Directory that the command runs in. Default: the gateway's."`
	// MaxMemory is how much memory the command's process, and each that it starts, may have for data. The
	// system holds it, on Linux alone. Default: no limit.
	MaxMemory Size `yaml:"max_memory" omit:"true" eg:"512MiB" min:"1MiB" max:"1024GiB" doc:"Memory that the command, and each process that it starts, may have for data (RLIMIT_DATA), on Linux. Default: no limit."`
	// MaxCPU is for how long the command may compute in all its life, in whole seconds; then it is killed,
	// and started anew for the next call. On Linux alone. Default: no limit.
	MaxCPU Duration `yaml:"max_cpu" omit:"true" eg:"10m" min:"1s" max:"720h" doc:"Time that the command may compute in all its life, in whole seconds (RLIMIT_CPU), on Linux; then it is killed, and started anew for the next call. Default: no limit."`
	// MaxFiles is how many files and connections the command may have open at a time, on Linux alone.
	// Default: no limit.
	MaxFiles int `yaml:"max_files" omit:"true" eg:"256" min:"16" max:"1000000" doc:"Files and connections that the command may have open at a time (RLIMIT_NOFILE), on Linux. Default: no limit."`
	// Headers are sent with every request to URL, and to nobody else.
	Headers map[string]Secret `yaml:"headers" eg:"{Authorization: \"Bearer ${GITHUB_TOKEN}\"}" doc:"Headers of every request to the server; their values count as secrets. A client's own credentials are never sent."`
	// OAuth signs the gateway in at the server.
	OAuth ToolOAuth `yaml:"oauth" omit:"true" eg:"{grant: authorization_code}" doc:"Signs the gateway in at the server by OAuth, instead of headers. Default: nothing."`
	// Elicitation is how a server that asks its user for something is answered: none (default), or
	// with the defaults that it names itself.
	Elicitation string `yaml:"elicitation" default:"none" enum:"none,defaults" doc:"What a server of type mcp gets that asks its user for something in the midst of a call: nothing, or the defaults that it names itself if it must have nothing else. With defaults it is also told yes where it asks for no more than that."`
	// PrivateNetwork lets the name in URL lead to a private address. Default false.
	PrivateNetwork bool `yaml:"private_network" eg:"true" doc:"Whether a name in url may lead to a private network or this machine. An address in url, and localhost, need no leave."`
	// Requests are the tools of type http.
	Requests []ToolRequest `yaml:"requests" omit:"true" eg:"[{name: forecast, method: GET, url: \"https://api.example/v1/{city}\"}]" doc:"Tools of type http, each one HTTP request."`
	// Tools are patterns of the names of tools that are offered. Default: all.
	Tools []string `yaml:"tools" omit:"true" eg:"[search_*, create_issue]" doc:"Names of the server's tools that are offered, with * for any text. Default: all."`
	// Trusted says that the server's own hints are believed. Default false.
	Trusted bool `yaml:"trusted" eg:"true" doc:"Whether the server's own hints are believed: what only reads, what may be repeated, what holds no strangers' text."`
	// Reads are patterns of tools that change nothing: the operator's word.
	Reads []string `yaml:"reads" omit:"true" eg:"[search_*]" doc:"Tools that change nothing, with *."`
	// Writes are patterns of tools that change something. They win over Reads.
	Writes []string `yaml:"writes" omit:"true" eg:"[create_*]" doc:"Tools that change something, with *; it wins over reads."`
	// Idempotent are patterns of tools that may be called again.
	Idempotent []string `yaml:"idempotent" omit:"true" eg:"[search_*]" doc:"Tools that may be called again when it is not known whether a call has run, with *."`
	// Untrusted says whether results hold strangers' text. Default true, unless a trusted
	// server's hints say otherwise.
	Untrusted Switch `yaml:"untrusted" omit:"true" eg:"false" doc:"Whether results hold strangers' text, such as pages, mails or issues. Default: true, unless trusted is set and the server says otherwise of a tool."`
	// Approval are patterns of tools that a client must agree to, or "all". Default: none.
	Approval Words `yaml:"approval" omit:"true" eg:"[delete_*]" doc:"Tools that a client must agree to before each call, with *; or all."`
	// Descriptions are told to models instead of the server's.
	Descriptions map[string]string `yaml:"descriptions" omit:"true" eg:"{search_code: \"Searches code.\"}" doc:"Descriptions by tool, told to models instead of the server's."`
	// Fallback are the tools that a model is told of when one fails, as server__tool.
	Fallback map[string][]string `yaml:"fallback" omit:"true" eg:"{search_code: [gitlab__search]}" doc:"By tool, those that a model is told of when it fails, as server__tool."`
	// Timeout bounds one attempt of a call. Default: tool_timeout of the model; 100ms to 10m.
	Timeout Duration `yaml:"timeout" eg:"10s" min:"100ms" max:"10m" doc:"For one attempt of a call. Default: tool_timeout of the model."`
	// Concurrency is how many calls run at a time. Default 4, 1 to 64.
	Concurrency int `yaml:"concurrency" default:"4" min:"1" max:"64" doc:"How many calls of the server run at a time."`
	// Refresh is how old the list of tools gets. Default 5m, 1s to 24h.
	Refresh Duration `yaml:"refresh" default:"5m" min:"1s" max:"24h" doc:"How old the list of tools gets; a server may say that it holds for less, or that it has changed."`
}

// ToolOAuth is how the gateway signs in at a tool server.
type ToolOAuth struct {
	// Grant is authorization_code, where an operator agrees once in a browser, or client_credentials,
	// where the gateway signs in alone. Without one nobody signs in.
	Grant string `yaml:"grant" enum:"authorization_code,client_credentials" eg:"authorization_code" doc:"How: authorization_code, where an operator agrees once in a browser (callgate tools login), or client_credentials, where the gateway signs in alone."`
	// ClientID is that of a client that is registered. client_credentials wants one.
	ClientID string `yaml:"client_id" omit:"true" eg:"callgate" doc:"The id of a client that is registered; client_credentials wants one. Default: the gateway registers itself."`
	// ClientSecret is its secret. client_credentials wants one.
	ClientSecret Secret `yaml:"client_secret" omit:"true" eg:"${LINEAR_SECRET}" doc:"Its secret; client_credentials wants one."`
	// ClientDocument is the address of a document that describes the client, instead of ClientID.
	ClientDocument string `yaml:"client_document" omit:"true" eg:"https://callgate.example/client.json" doc:"Address of a document that describes the client, instead of client_id, where a server takes one."`
	// Scopes are asked for instead of those that the server names.
	Scopes []string `yaml:"scopes" omit:"true" eg:"[read, write]" doc:"Scopes that are asked for when an operator signs in. Default: those that the server names."`
	// Servers are the origins that may be asked for a token, beside that of the tool server.
	Servers []string `yaml:"servers" omit:"true" eg:"[https://login.example]" doc:"Origins that may be asked for a token, beside that of the server itself."`
	// File keeps the token of authorization_code. Default: one named for the server, beside the configuration.
	File string `yaml:"file" omit:"true" eg:"/var/lib/callgate/linear.token" doc:"File that keeps what an operator was given, and that the gateway renews. Default: callgate.NAME.token beside the configuration file."`
}

// IsNone says that nobody signs in.
func (o ToolOAuth) IsNone() bool { return o.Grant == "" }

// ToolRequest is a tool that is one HTTP request.
type ToolRequest struct {
	// Name is the tool's name.
	Name string `yaml:"name" required:"true" eg:"forecast" doc:"Name of the tool."`
	// Description says to models what it does.
	Description string `yaml:"description" required:"true" eg:"\"The weather of the next days.\"" doc:"What it does, told to models."`
	// Parameters is the JSON schema of its arguments. Default: none.
	Parameters JSON `yaml:"parameters" omit:"true" eg:"{type: object, properties: {city: {type: string}}, required: [city]}" doc:"JSON schema of its arguments, an object. Default: no arguments."`
	// Output is the JSON schema of its result.
	Output JSON `yaml:"output" omit:"true" eg:"{type: object}" doc:"JSON schema of its result; a result that does not fit is an error. Default: anything."`
	// Method is that of the request: GET (default), POST, PUT, PATCH or DELETE.
	Method string `yaml:"method" default:"GET" enum:"GET,POST,PUT,PATCH,DELETE" doc:"Method of the request."`
	// URL is its address, with {argument} in path and query.
	URL string `yaml:"url" required:"true" eg:"\"https://api.example/v1/{city}?days={days}\"" doc:"Address, with {argument} in path and query; a part of the query whose argument is not given is left out."`
	// Headers are sent beside those of the server.
	Headers map[string]Secret `yaml:"headers" omit:"true" eg:"{X-Key: \"${WEATHER_KEY}\"}" doc:"Headers beside those of the server; their values count as secrets."`
	// Body is where arguments go that have no place in URL: "json", "form" or "none". Default
	// none for GET and DELETE, json for the others.
	Body string `yaml:"body" omit:"true" enum:"json,form,none" doc:"Where arguments go that url has no place for. Default: none for GET and DELETE, json for the others."`
	// Result is a JSON pointer to the part of the answer that is the result. Default: all.
	Result string `yaml:"result" omit:"true" eg:"/data/0" doc:"JSON pointer to the part of the answer that is the result. Default: all of it."`
}

// BodyOf is where the arguments of a request go.
func (t ToolRequest) BodyOf() string {
	switch {
	case t.Body != "":
		return t.Body
	case t.Method == "GET", t.Method == "DELETE":
		return "none"
	}
	return "json"
}
