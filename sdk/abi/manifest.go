package abi

// Manifest says what a module holds. On the wire it is JSON with these names,
// which is easy to write by hand as a constant in any language; the host reads
// it strictly (an unknown key is an error).
type Manifest struct {
	ABI     int      `json:"abi"`
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Parsers []Parser `json:"parsers"` // a parser's place here is its number in can_parse and open
}

// Parser describes one parser of a module.
type Parser struct {
	Name      string   `json:"name"`
	Aliases   []string `json:"aliases,omitempty"` // other servers' names for it
	Version   string   `json:"version"`
	Priority  int      `json:"priority"`            // 1 to 100, the highest is asked first
	Formats   []string `json:"formats,omitempty"`   // the wire forms it reads, for people
	Example   string   `json:"example,omitempty"`   // a call in its form, short and on one line
	Triggers  []string `json:"triggers,omitempty"`  // literals that begin a region, anywhere in the text
	Starts    []string `json:"starts,omitempty"`    // literals that begin a region at the start of the output, after white space; "" is any text, for a parser that the configuration names
	Models    []string `json:"models,omitempty"`    // globs of model names that it should be asked first for
	Heuristic bool     `json:"heuristic,omitempty"` // its markup is ordinary text too: it counts only at its end, for offered names, never in a code fence
	Framing   bool     `json:"framing,omitempty"`   // its markup frames the answer too, so it is asked even if no tools are offered
	Streams   bool     `json:"streams,omitempty"`   // gives arguments before the call is complete
}
