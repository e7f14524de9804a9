package conformance

// formRule is a rule for every answer, whatever its case is about.
type formRule struct {
	level   Level
	says    string
	sources []string // of a rule of Core; see Sources
	// once is the case of each area that breaks where this rule is broken, by the end of its
	// name: what all answers of a gateway lack is one fault, not one in each case. "" is all.
	once string
}

// formRules are the rules that an answer's form has to keep, by name. What only some clients
// mind, or none, is not of Core.
var formRules = map[string]formRule{ //nolint:gochecknoglobals // a table
	// Chat, whole and streamed.
	"completion":   {Core, "a whole answer is a chat.completion with an id, and choices by index, each with a message", []string{"openapi-chat"}, ""},
	"role":         {Core, "the message is the assistant's, and a stream says so before its finish reason", []string{"openapi-chat", "openai-node-final"}, ""},
	"role_first":   {Exact, "the first delta of a choice has the role", nil, ""},
	"call":         {Core, "a call has an id of its own, the type function, a name, and arguments that are a JSON object", []string{"openapi-chat", "openai-node-final", "openai-node-call"}, ""},
	"call_reason":  {Core, "the finish reason is tool_calls only where there is a call", []string{"openapi-chat"}, ""},
	"chunk":        {Core, "the data of a stream is chunks, JSON of the object chat.completion.chunk", []string{"openapi-chunk"}, ""},
	"chunk_id":     {Core, "all chunks of a stream have the same id", []string{"openapi-chunk"}, ""},
	"done":         {Core, "a stream ends with [DONE], once, unless it ends with an error", []string{"openapi-stream", "openai-python-stream"}, ""},
	"after_error":  {Exact, "nothing follows an error, [DONE] neither: no client reads it, or one takes the stream for good", nil, ""},
	"finish":       {Core, "each choice of a stream has one finish reason, and nothing of it follows", []string{"openapi-chunk", "openai-node-final"}, ""},
	"call_index":   {Core, "calls in a stream are numbered from 0 without gaps, and each piece names its call", []string{"openai-python-deltas"}, ""},
	"call_begin":   {Core, "a call in a stream begins with its id, type and name", []string{"openai-python-deltas", "openai-node-final"}, ""},
	"call_once":    {Core, "id and name of a call come once: clients join them", []string{"openai-python-deltas"}, ""},
	"choice_index": {Core, "choices are numbered from 0", []string{"openapi-chunk"}, ""},
	// Framing.
	"sse_end":    {Exact, "every event ends with an empty line", nil, ""},
	"sse_fields": {Exact, "a stream has no lines but fields of events and comments", nil, ""},
	"type":       {Core, "a whole answer says that it is JSON, a stream that it is text/event-stream", []string{"openai-python-type", "sse"}, ""},
	"type_error": {Exact, "an error says that it is JSON: SDKs read it as JSON anyway", nil, ""},
	"broken":     {Core, "an answer that says it is well is whole", []string{"rfc9112-incomplete"}, ""},
	// Errors.
	"error":       {Core, "an error is a JSON object with a member error, an object, that has a message", []string{"openapi-error", "openai-python-status"}, ""},
	"error_type":  {Exact, "an error has a type: OpenAI's document demands it, SDKs do without", nil, ""},
	"error_nulls": {Exact, "an error of the gateway's own has param and code too, if need be as null: SDKs do without", nil, ""},
	"asked":       {Own, "a request that is at fault is not sent to the upstream", nil, ""},
	"not_asked":   {Core, "a good request reaches the upstream", []string{"openapi-chat"}, ""},
	// Responses.
	"response":        {Core, "a response has id, object response, created_at, status, model, output, parallel_tool_calls, tool_choice and tools", []string{"openapi-responses", "openresponses-schema", "openai-python-response-type"}, ""},
	"response_all":    {Exact, "a response has every member of Open Responses' schema, those that may be null too", nil, "members"},
	"response_item":   {Core, "an item of the output has its type's members: a message role, status and parts, a call call_id, name and arguments, reasoning a summary", []string{"openapi-responses", "openai-python-response-type"}, ""},
	"response_usage":  {Core, "usage has input_tokens, output_tokens, total_tokens, and details of both: cached_tokens, reasoning_tokens", []string{"openai-python-response-type"}, "usage"},
	"response_call":   {Core, "arguments are a string that is a JSON object, and call ids differ", []string{"openapi-responses"}, ""},
	"response_event":  {Core, "an event of a stream is JSON with its type, and names its item and place", []string{"openapi-responses-events"}, ""},
	"response_name":   {Exact, "the event line says the type of the data: SDKs read the data", nil, "sequence"},
	"response_order":  {Core, "response.created is first, each item is added before and done behind its pieces, and one terminal event ends the stream", []string{"openresponses-stream", "openai-python-responses"}, ""},
	"response_same":   {Core, "the id of the response, and of each item, is the same in all events, and what is done says what its pieces said", []string{"openapi-responses-events", "openai-python-responses"}, ""},
	"response_number": {Core, "sequence_number grows by one with each event", []string{"openapi-responses-events"}, "sequence"},
	// Messages.
	"message":       {Core, "a message has id, type message, role assistant, model, content, stop_reason and usage with input_tokens and output_tokens", []string{"anthropic-doc-messages", "anthropic-python-type"}, ""},
	"message_block": {Core, "a block has its type's members: text its text, tool_use id, name and an object as input, thinking its thinking and a signature", []string{"anthropic-doc-messages", "anthropic-doc-tools", "anthropic-python-type"}, ""},
	"message_all":   {Exact, "stop_sequence is there, if need be as null", nil, "text"},
	"message_event": {Core, "an event has its name on the event line and as type in the data: SDKs leave out what has no event line", []string{"anthropic-doc-stream", "anthropic-python-sse"}, ""},
	"message_order": {Core, "message_start is first; blocks are open one at a time, numbered from 0; message_delta and message_stop end the stream", []string{"anthropic-doc-stream", "anthropic-python-stream"}, ""},
	"message_input": {Core, "the pieces of a call's input join to a JSON object", []string{"anthropic-doc-stream", "anthropic-python-stream"}, ""},
	"message_error": {Core, "an error is {\"type\": \"error\", \"error\": {\"type\", \"message\"}}", []string{"anthropic-doc-errors"}, ""},
}

// faultOf is a fault against a rule for every answer.
func faultOf(rule, text string) Fault {
	r, ok := formRules[rule]
	if !ok {
		panic("conformance: there is no rule " + rule)
	}
	return Fault{Level: r.level, Text: text, rule: rule}
}
