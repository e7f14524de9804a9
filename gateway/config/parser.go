package config

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
