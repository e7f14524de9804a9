package config

// Rollout tries a change on a part of the requests. Its arms share the units, such as conversations,
// by their weights, and the first of them is the control: what is there now. The first rollout that
// a request meets has it; one that a rule of its model leads elsewhere is in none.
type Rollout struct {
	// Name says in logs and headers which one it is: 1 to 64 of a-z, A-Z, 0-9, -, _ and ., unique.
	Name string `yaml:"name" required:"true" eg:"new-model" doc:"Says in logs, metrics and headers which one it is; unique."`
	// Match says which requests it is about. Default: those for all Models.
	Match RolloutMatch `yaml:"match" omit:"true" eg:"{models: [assistant]}" doc:"Which requests it is about; all keys must hold. Default: those for all models that are listed."`
	// Unit is what stays in its arm: "conversation" (the default) is the key with the system prompt
	// and the first message of the user, "user" the one that the request names, "key" the client's,
	// and "request" each request for itself.
	Unit string `yaml:"unit" default:"conversation" enum:"key,user,conversation,request" doc:"What stays in its arm: conversation (the key, the system prompt and the first user message), user (the request's safety_identifier, user or metadata.user_id; without one its conversation), key, or each request for itself."`
	// Salt is what units are hashed with. Default: the name. Another one mixes all units anew.
	Salt string `yaml:"salt" omit:"true" eg:"2026-11" doc:"What units are hashed with: another salt mixes all units anew, and rollouts with the same one agree. Default: the name."`
	// Arms are 2 to 16; their weights add up to 100, and the first is the control.
	Arms []Arm `yaml:"arms" required:"true" eg:"[{name: control, weight: 90}, {name: new, weight: 10, override: {parser: hermes}}]" doc:"2 to 16 ways to serve requests. Their weights add up to 100; the first is the control."`
	// Mirror sends copies of requests to an arm.
	Mirror Mirror `yaml:"mirror" omit:"true" eg:"{percent: 5, arm: new}" doc:"Copies of requests that an arm answers beside the client's own, which nobody gets and nobody is billed for. Default: none."`
	// Shadow reads what the live parser reads with another one too.
	Shadow Shadow `yaml:"shadow" omit:"true" eg:"{parser: hermes}" doc:"Another parser that reads the text of every answer beside the live one; only differences are counted. Default: none."`
	// Stop says when an arm is stopped.
	Stop RolloutStop `yaml:"stop" omit:"true" eg:"{requests: 500}" doc:"When an arm is stopped by itself, so that its units get the control."`
}

// RolloutMatch is what a [Rollout] asks of a request.
type RolloutMatch struct {
	// Models are names of Models as they are written there, patterns included. Default: all.
	Models []string `yaml:"models" omit:"true" eg:"[assistant]" doc:"Names of models, as they are written there. Default: all that are listed, but for aliases, which are their models'."`
	// Keys are patterns of the names of clients' keys. Default: all.
	Keys []string `yaml:"keys" omit:"true" eg:"[staging-*]" doc:"Names of the clients' keys, with * for any text. Default: all, and requests without one."`
	// Headers are as in [When].
	Headers map[string]Words `yaml:"headers" omit:"true" eg:"{x-beta: \"1\"}" doc:"The client's headers and the value that each must have, as in rules. Default: any."`
}

// Arm is one way to serve the requests of a rollout.
type Arm struct {
	// Name is 1 to 64 of a-z, A-Z, 0-9, -, _ and ., unique in the rollout.
	Name string `yaml:"name" required:"true" eg:"new" doc:"Says in logs, metrics and headers which one it is; unique in the rollout."`
	// Weight is the share of units in percent, to a hundredth. Default 0: only whom a header leads
	// there, and mirrors.
	Weight float64 `yaml:"weight" default:"0" eg:"10" min:"0" max:"100" doc:"Share of the units in percent, to two decimals."`
	// Override is what differs from what the model says. Default: nothing.
	Override Override `yaml:"override" omit:"true" eg:"{parser: hermes}" doc:"What differs from what the model itself says. Default: nothing."`
}

// Override is what differs in an arm. A key that is left out is the model's.
type Override struct {
	// Targets stand in the place of the model's own.
	Targets []Target `yaml:"targets" omit:"true" eg:"[{provider: local}]" doc:"Where requests go instead, as targets of a model."`
	// Provider is that of the one target that stands there.
	Provider string `yaml:"provider" omit:"true" eg:"local" doc:"Name of the provider that requests go to instead."`
	// Model is the upstream's name of the model. Without a Provider the model's own targets are asked
	// for it.
	Model string `yaml:"model" omit:"true" eg:"Qwen/Qwen3-32B" doc:"The upstream's name of the model that is asked for instead."`
	// Fallback says who is asked behind the Targets: "control" (the default) are the model's own, and
	// such a request is not compared; "none" is nobody.
	Fallback string `yaml:"fallback" omit:"true" enum:"control,none" eg:"none" doc:"Who is asked if all of these fail: control, the model's own targets, and then the conversation is left out of the figures; or none. Default: control."`

	// Parser is as in [Target]. Default: the model's.
	Parser Parsers `yaml:"parser" omit:"true" eg:"hermes" doc:"As that of targets. Default: the target's own."`
	// Reasoning is as in [Target]: "auto", "open", "closed" or "none". Default: the model's.
	Reasoning string `yaml:"reasoning" omit:"true" enum:"auto,open,closed,none" eg:"open" doc:"As that of targets. Default: the target's own."`
	// Tools is as in [Target]: "auto", "native" or "prompted". Default: the model's.
	Tools string `yaml:"tools" omit:"true" enum:"auto,native,prompted" eg:"prompted" doc:"As that of targets. Default: the target's own."`
	// ToolCalls is as in [Target]: "off", "report" or "repair". Default: the model's.
	ToolCalls string `yaml:"tool_calls" omit:"true" enum:"off,report,repair" eg:"report" doc:"As that of targets. Default: the target's own."`
	// OnInvalidCall is as in [Target]: "pass", "reject" or "reask". Default: the model's.
	OnInvalidCall string `yaml:"on_invalid_call" omit:"true" enum:"pass,reject,reask" eg:"reask" doc:"As that of targets. Default: the target's own."`
	// DoubtfulCall is as in [Target]: "off", "report" or "refuse". Default: the model's.
	DoubtfulCall string `yaml:"doubtful_call" omit:"true" enum:"off,report,refuse" eg:"refuse" doc:"As that of targets. Default: the target's own."`
	// ResponseFormat is as in [Target]: "native" or "prompted". Default: the model's.
	ResponseFormat string `yaml:"response_format" omit:"true" enum:"native,prompted" eg:"prompted" doc:"As that of targets. Default: the target's own."`
	// StructuredOutput is as in [Target]: "off", "report" or "repair". Default: the model's.
	StructuredOutput string `yaml:"structured_output" omit:"true" enum:"off,report,repair" eg:"report" doc:"As that of targets. Default: the target's own."`
	// OnInvalidOutput is as in [Target]: "pass", "reject" or "reask". Default: the model's.
	OnInvalidOutput string `yaml:"on_invalid_output" omit:"true" enum:"pass,reject,reask" eg:"reask" doc:"As that of targets. Default: the target's own."`
	// ToolInReasoning is as in [Target]: "buffer", "end" or "ignore". Default: the model's.
	ToolInReasoning string `yaml:"tool_in_reasoning" omit:"true" enum:"buffer,end,ignore" eg:"end" doc:"As that of targets. Default: the target's own."`
	// Guard is as in [Route]: "off", "report" or "enforce". Default: the model's.
	Guard string `yaml:"guard" omit:"true" enum:"off,report,enforce" eg:"enforce" doc:"As that of models. Default: the model's."`
	// GuardThreshold is as in [Route], 0.05 to 1. Default: the model's.
	GuardThreshold float64 `yaml:"guard_threshold" omit:"true" eg:"0.8" min:"0.05" max:"1" doc:"As that of models. Default: the model's."`
	// LoopGuard is as in [Route]: "off", "report", "answer" or "refuse". Default: the model's.
	LoopGuard string `yaml:"loop_guard" omit:"true" enum:"off,report,answer,refuse" eg:"answer" doc:"As that of models. Default: the model's."`
	// ToolBinding is as in [Route]: "off", "report" or "refuse". Default: the model's.
	ToolBinding string `yaml:"tool_binding" omit:"true" enum:"off,report,refuse" eg:"refuse" doc:"As that of models. Default: the model's."`
	// ResolveReferences is as in [Route]: "off", "report" or "repair". Default: the model's.
	ResolveReferences string `yaml:"resolve_references" omit:"true" enum:"off,report,repair" eg:"report" doc:"As that of models. Default: the model's."`
	// CacheHints is as in [Route]: "off", "report" or "set". Default: the model's.
	CacheHints string `yaml:"cache_hints" omit:"true" enum:"off,report,set" eg:"set" doc:"As that of models. Default: the model's."`
	// DateContext is as in [Route]. Default: the model's.
	DateContext string `yaml:"date_context" omit:"true" eg:"UTC" doc:"As that of models. Default: the model's."`
	// FallbackOn is as in [Route]. Default: the model's.
	FallbackOn FallbackOn `yaml:"fallback_on" omit:"true" eg:"[ghosts]" doc:"As that of models. Default: the model's."`
}

// Mirror sends copies of requests to an arm, when the client has its answer. No tool is run for them.
type Mirror struct {
	// Percent is the share of requests, to a hundredth; 0.01 to 100. Default 0: none.
	Percent float64 `yaml:"percent" omit:"true" eg:"5" min:"0.01" max:"100" doc:"Share of the requests in percent, to two decimals. Default: 0."`
	// Arm answers them. Requests that are its own are not copied. Required with Percent.
	Arm string `yaml:"arm" omit:"true" eg:"new" doc:"Name of the arm that answers them; its own requests are not copied."`
	// Concurrency is how many run at once, 1 to 256. Default 2.
	Concurrency int `yaml:"concurrency" omit:"true" eg:"2" min:"1" max:"256" doc:"How many run at once. Default: 2."`
	// Queue is how many wait at most, 1 to 10000. Default 100. What comes on top is dropped and counted.
	Queue int `yaml:"queue" omit:"true" eg:"100" min:"1" max:"10000" doc:"How many wait at most; what comes on top is dropped and counted. Default: 100."`
	// Memory bounds the requests that wait and run, 1MiB to 1GiB. Default 32MiB.
	Memory Size `yaml:"memory" omit:"true" eg:"32MiB" min:"1MiB" max:"1GiB" doc:"What the requests that wait and run may hold together; what comes on top is dropped and counted. Default: 32MiB."`
}

// Shadow reads the text of answers with another parser.
type Shadow struct {
	// Parser is as that of [Target]. Default: none.
	Parser Parsers `yaml:"parser" omit:"true" eg:"hermes" doc:"A parser's name, a list of names or auto. Default: none, and nothing is read."`
	// Reasoning is as that of [Target]: "auto" (the default), "open", "closed" or "none".
	Reasoning string `yaml:"reasoning" omit:"true" enum:"auto,open,closed,none" eg:"auto" doc:"State of the reasoning where the text begins, as that of targets. Default: auto."`
	// Queue is how many texts wait at most, 1 to 10000. Default 200.
	Queue int `yaml:"queue" omit:"true" eg:"200" min:"1" max:"10000" doc:"How many texts wait for the one that reads them; what comes on top is dropped and counted. Default: 200."`
	// Memory bounds the texts that wait, 1MiB to 1GiB. Default 32MiB.
	Memory Size `yaml:"memory" omit:"true" eg:"32MiB" min:"1MiB" max:"1GiB" doc:"What these texts may hold together; what comes on top is dropped and counted. Default: 32MiB."`
}

// RolloutStop says when an arm is stopped.
type RolloutStop struct {
	// Mode is "auto" (the default), or "off", which only says what the figures bear out.
	Mode string `yaml:"mode" omit:"true" enum:"auto,off" eg:"auto" doc:"auto stops an arm that is worse beyond doubt; off only shows the figures. Default: auto."`
	// Requests is how many the arm must have, 50 to 1000000. Default 200.
	Requests int `yaml:"requests" omit:"true" eg:"200" min:"50" max:"1000000" doc:"How many requests the arm must have. Default: 200."`
	// Margin is by how many points its lowest plausible share of failures must be above the control's
	// highest, 0.1 to 50. Default 2.
	Margin float64 `yaml:"margin" omit:"true" eg:"2" min:"0.1" max:"50" doc:"By how many points (of 100) the arm's lowest plausible share of failures must be above the control's highest. Default: 2."`
}
