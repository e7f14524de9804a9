package config

// Route is how requests for a model are guarded. [Model] has its keys, and
// [Config.Defaults] has them for models that do not set one. A list replaces that of the
// defaults as a whole, and an empty one stands for none. A key is refused where the
// mode that it belongs to is off.
type Route struct {
	// Routing says which target is asked first: "order" (the default) is the order of
	// the targets, or their weights; "prefix" is the one that has the most of the prompt in
	// its cache, if it is not too busy.
	Routing string `yaml:"routing" enum:"order,prefix" eg:"prefix" doc:"Which target is asked first: by order and weights, or prefix, the one that has the most of the prompt in its cache and is not too busy. Default: order."`
	// CacheHints says whether providers are told which beginning of a prompt they are to
	// find in their caches, by what their PromptCacheHints is: "report" says what "set"
	// would tell them. "off" does not. Default: "set" where Routing is "prefix", else "off".
	CacheHints string `yaml:"cache_hints" enum:"off,report,set" eg:"set" doc:"Whether providers are told which beginning of a prompt to find in their caches, by what their prompt_cache_hints is: off, report says what set would tell them. Default: set where routing is prefix, else off."`
	// Guard is what is done about an answer that claims an action and calls no tool:
	// "off" does not look, "report" (the default) says so, "enforce" does not let it
	// through. "enforce" needs targets whose ToolCalls is "repair".
	Guard string `yaml:"guard" enum:"off,report,enforce" eg:"enforce" doc:"An answer that claims an action and calls no tool: off does not look, report says so, enforce does not let it through. Default: report."`
	// GuardThreshold is how sure the guard must be, 0.05 to 1. Default 0: the guard's
	// own. Lower finds more such answers, and more that are none.
	GuardThreshold float64 `yaml:"guard_threshold" eg:"0.8" min:"0.05" max:"1" doc:"How sure the guard must be that an answer only claims an action. Default: the guard's."`
	// GuardJudge is a provider and its model, as provider/model, that is asked whether a call is
	// missing where the guard's score is in the middle, and before every call that is demanded.
	// Default: nobody is asked.
	GuardJudge string `yaml:"guard_judge" omit:"true" eg:"openai/gpt-5-mini" doc:"A model, as provider/model, that is asked whether a call is missing: where the guard is not sure, and before every call that is demanded. Default: none."`
	// GuardJudgeTimeout is how long it may take; then the guard's own rules count. Default 3s.
	GuardJudgeTimeout Duration `yaml:"guard_judge_timeout" omit:"true" eg:"5s" min:"100ms" max:"1m" doc:"How long guard_judge may take; then the guard's own rules count. Default: 3s."`
	// Intents are the operator's rules for Guard.
	Intents []Intent `yaml:"intents" eg:"[{match: [delete, remove], expect: delete_task}]" doc:"Which tool must be called when the user's message holds certain words."`
	// LoopGuard is what is done about an agent that goes in circles: "off" does not
	// look, "report" (the default) says so, "answer" has the model answer without
	// tools, by tool_choice none and a note to it, "refuse" refuses the request with
	// status 422.
	LoopGuard string `yaml:"loop_guard" enum:"off,report,answer,refuse" eg:"answer" doc:"An agent that goes in circles: off does not look, report says so, answer sets tool_choice none with a note to the model, refuse is status 422. Default: report."`
	// MaxRounds is how many rounds of calls may follow a message of the user, 1 to
	// 1000. Default 15.
	MaxRounds int `yaml:"max_rounds" eg:"15" min:"1" max:"1000" doc:"How many rounds of calls may follow a user message. Default: 15."`
	// CodingRounds is MaxRounds where the request offers tools that run commands or edit files:
	// programs that write code work for long on one message. 1 to 1000. Default 100, or MaxRounds
	// where that is set.
	CodingRounds int `yaml:"coding_rounds" eg:"100" min:"1" max:"1000" doc:"max_rounds where tools that run commands or edit files are offered. Default: 100, or max_rounds where that is set."`
	// MaxCalls is how many calls may follow a message of the user, 1 to 10000. Default ten times
	// the rounds.
	MaxCalls int `yaml:"max_calls" omit:"true" eg:"150" min:"1" max:"10000" doc:"How many calls may follow a user message, in all rounds. Default: ten times the rounds."`
	// IdleRounds is how many rounds in a row may bring nothing new, 2 to 100 and not
	// more than MaxRounds. Default 3. One that is not the model's own is at most
	// MaxRounds.
	IdleRounds int `yaml:"idle_rounds" eg:"3" min:"2" max:"100" doc:"How many rounds of calls in a row may bring nothing new; not more than max_rounds. Default: 3."`
	// MaxLoopTime is how long a client's loop may last: from the first request behind a message of the user
	// on, with the time in which it runs its tools. 1s to 168h. Default: no limit.
	MaxLoopTime Duration `yaml:"max_loop_time" omit:"true" eg:"30m" min:"1s" max:"168h" doc:"How long a client may go on with calls of tools behind one user message, from its first request on, with the time in which it runs its tools. Default: no limit."`
	// MaxLoopUSD is what that may cost in US dollars, by the prices of the answers. Default: no limit.
	MaxLoopUSD float64 `yaml:"max_loop_usd" omit:"true" eg:"2.5" min:"0.000001" max:"4500000" doc:"What that may cost in US dollars. The prices of the model's targets must be known (prices, assume_price). Default: no limit."`
	// ToolBinding is what is done if the tools that a client offers do not reach the
	// upstream, or the answer does not heed them: "off" does not look, "report" (the
	// default) says so, "refuse" answers with an error.
	ToolBinding string `yaml:"tool_binding" enum:"off,report,refuse" eg:"refuse" doc:"Whether the tools offered reach the upstream and the answer heeds them: off does not look, report says so, refuse answers with an error. Default: report."`
	// FallbackOn lists failures behind which the next target is asked, besides those of an
	// upstream, as long as the client has seen nothing: calls and answers that are refused
	// ("invalid_calls", "invalid_outputs"), what the guard does not let through ("ghosts",
	// "contradictions"), and what an upstream refuses since it cannot take tools
	// ("tools_refused") or the context is too long for it ("context_length"). Default: where the
	// upstream has not answered at all, so that nothing is paid twice, [tools_refused,
	// context_length]; an empty list is none of them.
	FallbackOn FallbackOn `yaml:"fallback_on" eg:"[invalid_calls, invalid_outputs]" doc:"Failures behind which the next target is asked, besides those of an upstream, as long as nothing has gone out: invalid_calls, invalid_outputs (refused, by on_invalid_call and on_invalid_output), ghosts, contradictions (guard: enforce), tools_refused, context_length. Default: [tools_refused, context_length], where the upstream has not answered at all."`
	// Quality is what is done about targets that call tools worse than others of the same route:
	// "off" does not count, "report" (the default) counts, shows, and says in the log what "weight"
	// would do, which gives them fewer of the new conversations, slowly and never none. "weight" needs
	// two targets with a weight, or Routing "prefix".
	Quality string `yaml:"quality" enum:"off,report,weight" eg:"weight" doc:"Targets that call tools worse than others of the route: off does not count, report counts and says what weight would do, weight gives them fewer of the new conversations, slowly and never none. weight needs two targets with a weight, or routing: prefix. Default: report."`
	// QualityLow is the score below which a target may lose conversations, 0.05 to 1. Default 0.85.
	QualityLow float64 `yaml:"quality_low" omit:"true" eg:"0.8" min:"0.05" max:"1" doc:"Score below which a target may lose new conversations to a better one. Default: 0.85."`
	// QualityHigh is the score above which it gets them back, above QualityLow. Default 0.92.
	QualityHigh float64 `yaml:"quality_high" omit:"true" eg:"0.95" min:"0.05" max:"1" doc:"Score above which it gets them back; above quality_low. Default: 0.92."`
	// QualityFloor is the share of new conversations that it keeps, 0.01 to 0.5. Default 0.05.
	QualityFloor float64 `yaml:"quality_floor" omit:"true" eg:"0.1" min:"0.01" max:"0.5" doc:"Share of the new conversations that it keeps, so that it can show that it is better. Default: 0.05."`
	// DateContext is "off" (the default) or the IANA time zone in which a line of the
	// system prompt tells the date, such as "Europe/Berlin" or "UTC".
	DateContext string `yaml:"date_context" eg:"Europe/Berlin" doc:"IANA time zone, such as Europe/Berlin or UTC, in which a line of the system prompt tells the date; off adds none. Default: off."`
	// References are the arguments that stand for something an earlier result has
	// named. Tools may declare some themselves, as x-reference.
	References []Reference `yaml:"references" eg:"[{tool: complete_task, argument: id, from: list_tasks, match: title, value: id}]" doc:"Arguments that stand for something an earlier result has named, besides those that tools declare as x-reference."`
	// ResolveReferences is what is done about them: "off" does not look, "report" says
	// what "repair" (the default) would put in their place.
	ResolveReferences string `yaml:"resolve_references" enum:"off,report,repair" eg:"repair" doc:"Arguments that are references: off does not look at them, report says what repair would put in their place. Default: repair."`
	// ExecutionMetadata is where a client finds what the guards did, besides the
	// headers: "off" (the default) nowhere, "body" in the answer itself.
	ExecutionMetadata string `yaml:"execution_metadata" enum:"off,body" eg:"body" doc:"What the guards did, in the body of the answer too: off or body. Default: off."`
	// AnswerCache is where answers are kept for equal requests of the same client, which without
	// keys are all clients: "off" (the default), "memory" or "redis". Only requests with temperature 0 or a seed have
	// one, and only answers that are complete, make no call and give no cause for doubt.
	// A stored one is the same bytes, its id, usage and execution metadata among them.
	AnswerCache string `yaml:"answer_cache" enum:"off,memory,redis" eg:"memory" doc:"Where answers are kept for equal requests of the same client (without keys: of any) with temperature 0 or a seed: off, memory or redis. Default: off."`
	// AnswerCacheTTL is for how long. Default 10m, 1s to 24h.
	AnswerCacheTTL Duration `yaml:"answer_cache_ttl" eg:"1h" min:"1s" max:"24h" doc:"How long an answer is kept. Default: 10m."`
	// Tools says which tools the gateway runs for requests, and how.
	Tools ToolUse `yaml:"tools" omit:"true" eg:"{servers: [github]}" doc:"Which tools of tool_servers the gateway runs for requests without the client's naming them, and bounds on that."`
}

// FallbackOn is a list of failures; see [Route].
type FallbackOn []string

// Intent is a rule of the operator's: words in the user's last message, and the tool
// that must be called then.
type Intent struct {
	// Match are the words, or phrases, one of which is enough. Case does not matter.
	// At least one; a word that is in two intents has one tool.
	Match []string `yaml:"match" required:"true" eg:"[delete, remove]" doc:"Words or phrases of the user's last message, one of which is enough; case does not matter."`
	// Expect is the name of the tool, as clients offer it. Required.
	Expect string `yaml:"expect" required:"true" eg:"delete_task" doc:"Name of the tool that must be called then."`
}

// Reference says that an argument of a tool is a value that an earlier result of
// another tool has. The model may have written the name that belongs to it instead.
type Reference struct {
	// Tool is the name of the tool with the argument. Required.
	Tool string `yaml:"tool" required:"true" eg:"complete_task" doc:"Name of the tool that has the argument."`
	// Argument leads to it: the names of properties with dots, and [] for the elements
	// of an array, as in "items[].id". Required; one reference each.
	Argument string `yaml:"argument" required:"true" eg:"id" doc:"The argument: names of properties with dots, [] for the elements of an array, as in items[].id."`
	// From is the name of the tool whose results have the value, which may be Tool.
	// Required.
	From string `yaml:"from" required:"true" eg:"list_tasks" doc:"Name of the tool whose results have the value."`
	// Match is the member of a result's objects that the model's text is compared
	// with, with dots as Argument. Required.
	Match string `yaml:"match" required:"true" eg:"title" doc:"Member of a result's objects that the argument is compared with."`
	// Value is the member that takes the argument's place. Required.
	Value string `yaml:"value" required:"true" eg:"id" doc:"Member of the same object that takes the argument's place."`
	// MinRatio is how alike the two texts must be. Default 0.6, 0.1 to 1, which takes
	// equal ones only.
	MinRatio float64 `yaml:"min_ratio" default:"0.6" min:"0.1" max:"1" doc:"How alike the two texts must be; 1 accepts only equal ones."`
}
