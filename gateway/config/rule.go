package config

// Rule leads the requests for a model that meet its conditions to targets of its own. The
// first rule of a model that is met is taken, and the model's targets if none is. If all of
// a rule's targets fail the request has failed: the model's are not asked, unless the
// rule lists them too.
type Rule struct {
	// When has the conditions, all of which must hold; at least one.
	When When `yaml:"when" required:"true" eg:"{metadata: {budget: premium}}" doc:"Conditions, all of which must hold. One of several is a list under one key, or a rule for each."`
	// Targets are as those of [Model].
	Targets []Target `yaml:"targets" required:"true" eg:"[{provider: local}]" doc:"Where these requests go, in order of preference; the model's own targets are not asked if all of these fail."`
}

// When is what a [Rule] asks of a request. A key that is left out asks nothing. Values are
// compared as they are, with case, and a * in one stands for any text; of several one is
// enough.
type When struct {
	// Metadata are members of the request's metadata, texts alone.
	Metadata map[string]Words `yaml:"metadata" omit:"true" eg:"{budget: premium}" doc:"Members of the request's metadata and the text that each must have; a list is one of several, * any text in one."`
	// Headers are the client's, by names without case. Those that hold keys are refused,
	// and those that stay with the gateway.
	Headers map[string]Words `yaml:"headers" omit:"true" eg:"{x-tier: gold}" doc:"The client's headers and the value that each must have, as for metadata. Those that hold keys are refused."`
	// Language are languages by ISO 639-1. The request's is what its metadata has as
	// "language", else that of the user's last message, if there is no doubt about it.
	Language Words `yaml:"language" omit:"true" eg:"[zh, th]" doc:"Languages by ISO 639-1, one of which the user's last message must be in. What the request has as metadata.language counts before it."`
	// Tools asks for requests that offer tools, or that do not.
	Tools Switch `yaml:"tools" omit:"true" eg:"true" doc:"Whether the request offers tools."`
	// Stream asks for requests that want a stream, or that do not.
	Stream Switch `yaml:"stream" omit:"true" eg:"true" doc:"Whether the request wants a stream."`
	// Size bounds the request's body.
	Size SizeRange `yaml:"size" omit:"true" eg:"{min: 32KiB}" doc:"Bounds on the request's body, both included."`
}

// SizeRange is a range of sizes, both ends included. An end that is 0 is none.
type SizeRange struct {
	// Min is at most Max and at most [Limits].Body, 1B to 1GiB.
	Min Size `yaml:"min" eg:"32KiB" min:"1B" max:"1GiB" doc:"Smallest size."`
	// Max is 1B to 1GiB.
	Max Size `yaml:"max" eg:"1MiB" min:"1B" max:"1GiB" doc:"Largest size."`
}

// Words are one text, or a list of texts of which one is meant. It is empty where the file
// says nothing.
type Words []string

// Switch is "true" or "false", or empty where the file says nothing.
type Switch string

// The values of a Switch.
const (
	True  Switch = "true"
	False Switch = "false"
)
