package console

import (
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/history"
)

// Words for operators: what the gateway's own names mean. A name without words is shown as it is.

// repaired says what was repaired, by the name of the repair.
var repaired = map[string]string{ //nolint:gochecknoglobals // a table
	"args_json":       "Arguments that were not quite JSON",
	"args_types":      "Values of the wrong type, such as \"3\" for 3",
	"args_encoding":   "Arguments wrapped in a JSON string",
	"args_object":     "An object where a string belongs",
	"calls_object":    "An object where a list of calls belongs",
	"args_empty":      "Empty arguments",
	"args_split":      "Several calls in one",
	"args_repeated":   "Arguments that came twice",
	"call_repeated":   "Calls that were in the text too",
	"name":            "A tool's name, misspelled",
	"id":              "Calls without an id of their own",
	"type":            "Calls without a type",
	"index":           "Calls with a wrong number",
	"finish_reason":   "A wrong word for the end of an answer",
	"stream":          "A whole answer where a stream was asked for",
	"reference":       "References to earlier results",
	"reasoning_field": "Reasoning in an unusual member",
	"reasoning_text":  "Reasoning written as text",
	"answer_json":     "Answers that were not quite JSON",
	"answer_types":    "JSON answers with values of the wrong type",
	"answer_encoding": "JSON answers wrapped in a string",
	"answer_fence":    "JSON answers in a code fence",
	"answer_prose":    "JSON answers with text around them",
	"answer_repeated": "JSON answers that came twice",
	"answer_object":   "JSON answers that were no text",
}

// faulty says what was wrong, by the class of the fault.
var faulty = map[string]string{ //nolint:gochecknoglobals // a table
	"invalid_json":     "The arguments were not JSON.",
	"unknown_name":     "The call names no tool that was offered.",
	"schema_mismatch":  "The arguments do not fit the tool's schema.",
	"empty_args":       "The arguments were empty.",
	"bad_index":        "The calls were numbered wrongly.",
	"bad_id":           "The call had no id of its own.",
	"text_call":        "The call was written as text.",
	"vendor_malformed": "The upstream itself said that the call was malformed.",
	"doubtful_call":    "The call can hardly be meant.",
	"answer_json":      "The answer was to be JSON and was not.",
	"answer_schema":    "The answer does not fit the schema that was asked for.",
}

// failures say what a code of an error means.
var failures = map[string]string{ //nolint:gochecknoglobals // a table
	"upstream_error":              "The upstream failed, or could not be reached.",
	"upstream_overloaded":         "The upstream had no capacity.",
	"upstream_timeout":            "The upstream took too long.",
	"upstream_cut":                "The upstream's stream broke off.",
	"upstream_rate_limited":       "The upstream limits how often it is asked.",
	"upstream_auth_error":         "The upstream refused the gateway's own key.",
	"upstream_rejected":           "The upstream refused the request.",
	"insufficient_quota":          "A budget, or the account at the upstream, is spent.",
	"empty_completion":            "The model answered nothing.",
	"invalid_tool_call":           "The model's call was broken, and could not be repaired.",
	"invalid_structured_output":   "The answer was to be JSON, and could not be repaired.",
	"tool_not_triggered":          "The model claimed an act, and called no tool for it.",
	"tool_result_contradicted":    "The model claimed what a tool's result denies.",
	"tools_lost":                  "The tools of the request got lost on their way to the model.",
	"tools_unseen":                "The model has not seen the tools of the request.",
	"tool_choice_ignored":         "The model made no call where one was demanded.",
	"max_iterations_exceeded":     "The conversation called tools without an end.",
	"circuit_open":                "All upstreams for the model are cut off for a while.",
	"memory_spent":                "The gateway had no memory left for the request (limits.memory).",
	"overloaded":                  "The gateway had too much to do.",
	"plugin_error":                "A parser's file is bad.",
	"internal_error":              "A defect of the gateway; the log has it.",
	"budget_cut":                  "A budget was spent in the middle of the answer (on_exceed: cut).",
	"client_closed_request":       "The client left before the end.",
	"invalid_api_key":             "No valid key.",
	"model_not_found":             "There is no such model.",
	"invalid_request":             "The request itself was at fault.",
	"unknown_name":                "The request names a tool that it does not offer.",
	"request_too_large":           "The request was too large.",
	"context_length_exceeded":     "The conversation is too long for the model.",
	"store_full":                  "The store of responses is full.",
	"previous_response_not_found": "The response that the request goes on from is not there.",
	"answer_too_large":            "The answer was too large.",
	"forbidden":                   "A web page of another site asked.",
	"rate_limit_exceeded":         "A limit of the key, team or model was reached.",
	"budget_exceeded":             "A budget was spent.",
	gateway.WarnToolsRefused:      "The upstream cannot take tools.",
}

// reasons say why an attempt was made.
var reasons = map[string]string{ //nolint:gochecknoglobals // a table
	string(gateway.First):     "first try",
	string(gateway.Retry):     "tried again",
	string(gateway.Fallback):  "went to another target",
	string(gateway.Reask):     "asked again: the model was told what was wrong with its call",
	string(gateway.Forced):    "asked again: the model was told to make the call that it only claimed",
	string(gateway.Corrected): "asked again: the model was told what its tools had really answered",
}

// signs say what an answer gave away, by the guard's signal.
var signs = map[string]string{ //nolint:gochecknoglobals // a table
	"tools_unused":    "it was offered tools and used none",
	"required_unmet":  "a call was required",
	"intent":          "the user wanted something done",
	"claim":           "it says that something was done",
	"claim_tool":      "it says that a tool was used",
	"due":             "the next step was due",
	"lookup":          "the user asked for what only a tool can know",
	"unsourced":       "it has figures that come from nowhere",
	"promise":         "it promises to do something",
	"call_text":       "it writes a call as text",
	"undeclared_call": "it calls what was not offered",
	"contradiction":   "a tool's result says otherwise",
}

// odd says what a warning means, beside those of the playground.
var odd = map[string]string{ //nolint:gochecknoglobals // a table
	"done_missing":           "The stream ended without its end mark.",
	"partial_answer":         "The rounds of tools had to end early; the answer is what they have found.",
	"tainted_call":           "A call that writes came behind a result that may hold a stranger's text.",
	"approval_invalid":       "The client's word on a call did not count.",
	"tool_results_forgotten": "Results of an earlier turn are not kept any more.",
	"tool_output_schema":     "A tool's result does not fit the schema that the tool declares.",
	"tools_missing":          "Tools are configured and were not offered: their server is away, or they are in quarantine.",
	"tool_dropped":           "A tool that the upstream does not know was left out.",
	"dropped":                "A field without a counterpart at the upstream was left out.",
	"schema_unchecked":       "The schema is none that can be checked.",
	"structured_unchecked":   "The answer was too long to be checked.",
	"guard_skipped":          "The answer was not judged.",
	"guard_failed":           "The judge could not be asked.",
	"guard_gave_up":          "The answer was too long to be held for judgement.",
	"circuit_open":           "A target was left out, since its breaker is open.",
	"tools_refused":          "An upstream cannot take tools, and was asked in another way.",
	"tool_rounds":            "The conversation comes near a limit of the loop guard.",
	"tool_cost_unknown":      "What the calls of the conversation have cost is not known in full, so its limit may come late.",
	"not_stored":             "The response was not stored.",
	"compacted":              "The conversation was too long, and was shortened.",
	"plugin":                 "A parser failed, and others read on.",
}

// marks are what a request that was not clean is shown and filtered by, the worst first.
var marks = []markWord{ //nolint:gochecknoglobals // a table
	{history.MarkFailed, "failed", "Failed", Bad},
	{history.MarkBroken, "broken", "Not repairable", Bad},
	{history.MarkGhost, "ghost", "Claim without a call", Bad},
	{history.MarkRefused, "refused", "Refused upstream", Fair},
	{history.MarkFallback, "fallback", "Fallback", Fair},
	{history.MarkRetry, "retry", "Retried", Fair},
	{history.MarkReask, "reask", "Asked again", Fair},
	{history.MarkRepaired, "repaired", "Repaired", Good},
	{history.MarkTool, "tool", "Tool failed", Fair},
	{history.MarkWarning, "odd", "Odd", Fair},
}

type markWord struct {
	Mark  history.Mark
	Key   string // in a link
	Word  string
	Level Level
}

// say gives the words of a table for a name, or the name.
func say(table map[string]string, name string) string {
	if words := table[name]; words != "" {
		return words
	}
	return name
}

// saysOfWarning is what a warning means, or "".
func saysOfWarning(warning string) string {
	if words := meaning(warning); words != "" {
		return words
	}
	kind, _, _ := strings.Cut(warning, ":")
	if words := odd[kind]; words != "" {
		return words
	}
	return faulty[kind]
}
