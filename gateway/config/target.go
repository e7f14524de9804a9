package config

// Model is a name that clients use.
type Model struct {
	// Targets are tried in this order but for the first, which is drawn if any has a
	// weight; at least one, unless there is an Alias.
	Targets []Target `yaml:"targets" instead:"alias" eg:"[{provider: local}]" doc:"Where requests for the model go, in order of preference."`
	// Rules lead some of the requests elsewhere, the first of them that is met.
	Rules []Rule `yaml:"rules" omit:"true" eg:"[{when: {metadata: {budget: premium}}, targets: [{provider: local}]}]" doc:"Targets for some of the requests: the first rule whose conditions all hold is taken, and targets if none is."`
	// Alias is the name that is meant by this one: of another model, which may be an alias
	// too, one that a pattern stands for, or "provider/model". Its targets, rules and
	// policies are this one's, and it is what goes upstream where a target has no name
	// of its own. No other key may stand beside it.
	Alias string `yaml:"alias" omit:"true" eg:"qwen3" doc:"Name of the model or provider/model that this name stands for, instead of targets and all other keys."`
	// Limits are for all clients together. Default: none.
	Limits []Limit `yaml:"limits" omit:"true" eg:"[{concurrency: 64}]" doc:"Limits of all clients together for the model. Default: none."`
	// Route has the keys that the model shares with [Config.Defaults], which it wins
	// over key by key. [Config.Route] gives them with their defaults filled in.
	Route `yaml:",inline"`
}

// Target is a model of a provider, as it was written. [Config.Targets] gives it
// with its defaults filled in.
type Target struct {
	// Provider is the name of one of the providers. Required.
	Provider string `yaml:"provider" required:"true" eg:"local" doc:"Name of one of the providers."`
	// Model is the upstream's name of the model. Default: the name that the
	// client used.
	Model string `yaml:"model" eg:"Qwen/Qwen3-32B" doc:"The upstream's name of the model. Default: the name that the client used."`
	// Weight is the target's share of the requests that ask it first, out of the sum
	// of all weights of the model. Default 0, 0 to 1000. If no target has one, the
	// first of the list is asked first; if any has, one with 0 is only a fallback.
	// The others follow in their order.
	Weight int `yaml:"weight" eg:"1" default:"0" min:"0" max:"1000" doc:"If any target of the model has a weight, the one that is asked first is drawn by weight, and those with 0 are only fallbacks; the others follow in their order."`
	// ContextTokens is how many tokens the upstream's model takes, prompt and answer together. A
	// conversation that is kept here is summarized at 80 % of the smallest one of its model's targets.
	// Default 0: not known, until an upstream refuses a prompt and says it.
	ContextTokens int `yaml:"context_tokens" omit:"true" eg:"131072" default:"0" min:"0" max:"1000000000" doc:"How many tokens the upstream's model takes. A conversation that the gateway keeps is summarized at 80 % of the smallest of the model's targets. 0: not known, until the upstream refuses a prompt and names it."`
	// Parser is as in [Provider]. Default: the provider's.
	Parser Parsers `yaml:"parser" eg:"hermes" doc:"A parser's name, a list of names, auto or none. Default: the provider's."`
	// Reasoning is as in [Provider]. Default: the provider's, but "none" where the
	// target's own Parser is "none".
	Reasoning string `yaml:"reasoning" enum:"auto,open,closed,none" doc:"State of the reasoning where the text begins. Default: the provider's, but none where parser is none."`
	// Tools is as in [Provider]. Default: the provider's.
	Tools string `yaml:"tools" enum:"auto,native,prompted" eg:"prompted" doc:"How the upstream learns of a request's tools. Default: the provider's."`
	// ToolCalls is as in [Provider]. Default: the provider's.
	ToolCalls string `yaml:"tool_calls" enum:"off,report,repair" doc:"What is done to tool calls. Default: the provider's."`
	// OnInvalidCall is as in [Provider]. Default: the provider's, but "pass" where
	// ToolCalls is "off".
	OnInvalidCall string `yaml:"on_invalid_call" enum:"pass,reject,reask" doc:"What is done about a call that cannot be repaired. Default: the provider's."`
	// DoubtfulCall is as in [Provider]. Default: the provider's.
	DoubtfulCall string `yaml:"doubtful_call" enum:"off,report,refuse" doc:"What is done about a call that is valid and can hardly be meant. Default: the provider's."`
	// ResponseFormat is as in [Provider]. Default: the provider's.
	ResponseFormat string `yaml:"response_format" enum:"native,prompted" eg:"prompted" doc:"How the upstream learns that an answer is to be JSON. Default: the provider's."`
	// StructuredOutput is as in [Provider]. Default: the provider's, else ToolCalls.
	StructuredOutput string `yaml:"structured_output" enum:"off,report,repair" doc:"What is done to an answer that is to be JSON. Default: the provider's, else as tool_calls."`
	// OnInvalidOutput is as in [Provider]. Default: the provider's, but "pass" where
	// StructuredOutput is "off".
	OnInvalidOutput string `yaml:"on_invalid_output" enum:"pass,reject,reask" doc:"What is done about an answer that was to be JSON and cannot be repaired. Default: the provider's."`
	// EmptyCompletion is as in [Provider]. Default: the provider's.
	EmptyCompletion string `yaml:"empty_completion" enum:"pass,fail" doc:"What is done about an answer with neither text nor a call. Default: the provider's."`
	// ToolInReasoning is as in [Provider]. Default: the provider's.
	ToolInReasoning string `yaml:"tool_in_reasoning" enum:"buffer,end,ignore" doc:"What is done with a call inside open reasoning. Default: the provider's."`
	// RawToolText is as in [Provider]. The provider's true is true for all targets.
	RawToolText bool `yaml:"raw_tool_text" eg:"true" doc:"Ask the upstream for the model's own text. Needs the provider's server."`
}
