package config

// PluginDir is the default of [Plugins].Dir. It alone need not be there.
const PluginDir = "./plugins.d"

// Plugins says where WebAssembly plugins are and what they may use.
type Plugins struct {
	// Dir holds the plugins, *.wasm, relative to the working directory. Default
	// ./plugins.d, which need not exist, as any other must; "" loads none.
	Dir string `yaml:"dir" default:"./plugins.d" doc:"Directory of *.wasm files, relative to the working directory. The default need not exist; \"\" loads none."`
	// Watch says whether Dir is watched: a new file takes over for new responses, and one
	// that is not fit is refused while the version before it stays. Default true.
	Watch bool `yaml:"watch" default:"true" doc:"Watch dir: new responses use a new file; one that is unfit is refused, and the version before it stays."`
	// Pull lists plugins in OCI registries and layouts, HOST/REPOSITORY@sha256:… or
	// oci:DIRECTORY@sha256:…. They are fetched at the start, once.
	Pull []string `yaml:"pull" eg:"[\"ghcr.io/me/parser@sha256:…\"]" doc:"Plugins in OCI registries or layouts, HOST/REPOSITORY@sha256:… or oci:DIRECTORY@sha256:…, the digest that of the manifest; fetched once, at the start."`
	// Require is what a file of Dir must have: "nothing" (default), a "pin", a
	// "signature", or "either". A pin or a signature that is there must be right in any
	// case.
	Require string `yaml:"require" default:"nothing" enum:"nothing,pin,signature,either" doc:"What a file of dir must have to be loaded: nothing, a pin, a minisign signature, or either of them. One that is there must be right in any case."`
	// Pins are the hashes of files in Dir, by file name, as callgate plugin inspect
	// prints them.
	Pins map[string]string `yaml:"pins" eg:"{my_model.wasm: \"sha256:…\"}" doc:"Hashes of files in dir by file name, sha256: and 64 hex digits."`
	// MinisignKeys are the public keys of those who may sign plugins. The signature of
	// x.wasm is in x.wasm.minisig.
	MinisignKeys []string `yaml:"minisign_keys" eg:"[RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3]" doc:"Public keys of those who may sign plugins with minisign; the signature of x.wasm is in x.wasm.minisig."`
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
	Quarantine Quarantine `yaml:"quarantine" eg:"{failures: 5, open: 60s}" doc:"When a failing plugin is quarantined."`
}

// PluginLimits are what one plugin may use.
type PluginLimits struct {
	// Input is the most text that one response may feed in. Default 1MiB, 1B to
	// 1GiB.
	Input Size `yaml:"input" default:"1MiB" min:"1B" max:"1GiB" doc:"Most text that one response may feed to a plugin."`
	// Time bounds one call into the plugin. Default 100ms, 1ms to 1m.
	Time Duration `yaml:"time" default:"100ms" min:"1ms" max:"1m" doc:"Time for one call into the plugin."`
	// Total bounds all calls for one response. Default 1s, 1ms to 10m, not less
	// than Time.
	Total Duration `yaml:"total" default:"1s" min:"1ms" max:"10m" doc:"Time for all calls of one response; not less than time."`
	// Memory is the largest memory of an instance. Default 32MiB, 1MiB to 4GiB.
	Memory Size `yaml:"memory" default:"32MiB" min:"1MiB" max:"4GiB" doc:"Largest memory of an instance."`
	// Output is the most that a plugin may write for one response. Default 8MiB,
	// 1B to 1GiB.
	Output Size `yaml:"output" default:"8MiB" min:"1B" max:"1GiB" doc:"Most that a plugin may write for one response."`
	// Handles is how many handles an instance may have open. Default 16, 1 to 1024.
	Handles int `yaml:"handles" default:"16" min:"1" max:"1024" doc:"How many handles an instance may have open."`
	// Depth is how deep JSON may nest. Default 128, 1 to 1024.
	Depth int `yaml:"depth" default:"128" min:"1" max:"1024" doc:"How deep JSON may nest."`
	// CompileTime bounds the process that compiles a plugin. Default 1m, 1s to 1h.
	CompileTime Duration `yaml:"compile_time" default:"1m" min:"1s" max:"1h" doc:"Time to compile it, in a process of its own."`
	// CompileMemory bounds the memory of that process, on Linux as a hard limit. Default
	// 512MiB, 128MiB to 16GiB.
	CompileMemory Size `yaml:"compile_memory" default:"512MiB" min:"128MiB" max:"16GiB" doc:"Memory of the process that compiles it; a hard limit on Linux alone."`
}

// Quarantine says when a failing plugin is left out.
type Quarantine struct {
	// Failures is how many responses in a row fail before it is left out. Default 5, 1 to 1000.
	Failures int `yaml:"failures" default:"5" min:"1" max:"1000" doc:"How many responses in a row must fail before a plugin is quarantined."`
	// Open is how long it is left out before it is tried again. Default 60s, 1ms
	// to 24h.
	Open Duration `yaml:"open" default:"60s" min:"1ms" max:"24h" doc:"How long before it is tried again."`
}
