package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// Features that a target may claim. Chat and Stream are the two ways to answer: a
// case that lists both runs in both, as far as the target claims them. All other
// features of a case must be claimed, or it is skipped.
const (
	Chat      = "chat"      // whole answers
	Stream    = "stream"    // streamed answers
	Tools     = "tools"     // tool calls are read from the model's text
	Reasoning = "reasoning" // reasoning is split from the model's text
	Fidelity  = "fidelity"  // what the gateway need not change it does not change
	Bytes     = "bytes"     // nor the bytes that say it: white space, escapes, the order of members
	Errors    = "errors"    // errors have OpenAI's form and the statuses of this suite
	Retry     = "retry"     // clients are told whether and when to try again, in the headers that OpenAI's SDKs read
	Again     = "again"     // the gateway itself tries again what an upstream puts off for half a second or less
	Cancel    = "cancel"    // a client that leaves ends the request at the upstream
	Strict    = "strict"    // JSON that two parsers may read differently is refused
	Limits    = "limits"    // bodies above 4 MiB and headers above 128 KiB are refused
	Keys      = "keys"      // clients need a key, which Target.Key is
	HTTP      = "http"      // bytes that are no good HTTP/1.1 are refused
	// Structured is the feature of targets that make JSON of an answer that was asked to be JSON
	// and is nearly that.
	Structured = "structured"
)

// Pieces is a feature that no case lists: the target's streams are cut just as the
// suite shows them. Those of other targets are joined before they are compared.
const Pieces = "pieces"

// Features are all features there are.
func Features() []string {
	return []string{Chat, Stream, Tools, Reasoning, Fidelity, Bytes, Errors, Retry, Again, Cancel, Strict, Limits, Keys, HTTP, Structured}
}

// Case is one file of the suite.
type Case struct {
	Name     string   // its path, without ending: tools/hermes_one_call
	About    string   // what it shows, in a sentence
	Features []string // what a target must claim
	Parser   string   // what reads the model's text: hermes, auto, none …
	Open     bool     // the prompt has begun the model's reasoning, and the gateway is told so
	Rule     string   // what is broken where the case fails

	// Request is the client's request as JSON. The suite adds the model where there
	// is none. RawRequest is there instead if the bytes are no JSON; $MODEL in it
	// stands for the model's name.
	Request    json.RawMessage
	RawRequest []byte
	Header     map[string]string // of the client's request, beside the usual ones
	// Client is what a client writes to its connection, in place of a good request.
	// $BODY in it stands for the request, $LENGTH for its length; see expand.
	Client []Step

	// Model is the text that the model writes, cut as its upstream cuts it, and
	// FinishReason is how it ends. Cases about the wire have the upstream's own
	// bytes instead: HTTP is a whole answer with its header, SSE a stream's events,
	// Again the answer to every further request. Without any of them the upstream must
	// not be asked.
	Model            []string
	FinishReason     string
	HTTP, SSE, Again []Step

	Want  Want
	Asked []string // empty files of want, which ask to be filled; see Result.Got
}

// Reader is what reads the model's text: the parser's name, and "-open" behind it
// where the prompt has begun the reasoning.
func (c *Case) Reader() string {
	if c.Open {
		return c.Parser + "-open"
	}
	return c.Parser
}

// Area is what the case is about: the first directory of its name.
func (c *Case) Area() string {
	area, _, _ := strings.Cut(c.Name, "/")
	return area
}

// File is where the case is, from the top of this repository.
func (c *Case) File() string { return "conformance/testdata/" + c.Name + ".txtar" }

// Has reports whether the case lists a feature.
func (c *Case) Has(feature string) bool { return slices.Contains(c.Features, feature) }

// ParseCase reads a case from the text of its file. It refuses what it does not
// know, so that no misspelt expectation is taken for a fulfilled one.
func ParseCase(name string, text []byte) (Case, error) {
	a := txtar.Parse(text)
	c := Case{Name: name, FinishReason: "stop"}
	if err := c.readHead(string(a.Comment)); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	seen := map[string]bool{}
	for _, f := range a.Files {
		if seen[f.Name] {
			return c, fmt.Errorf("%s: %s is there twice", name, f.Name)
		}
		seen[f.Name] = true
		read, known := files[f.Name]
		if !known {
			return c, fmt.Errorf("%s: there is no file called %s in a case", name, f.Name)
		}
		if strings.HasPrefix(f.Name, "want/") && len(bytes.TrimSpace(f.Data)) == 0 {
			c.Asked = append(c.Asked, f.Name)
			continue
		}
		if err := read(&c, f.Data); err != nil {
			return c, fmt.Errorf("%s: %s: %w", name, f.Name, err)
		}
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// readHead reads the sentence and the fields below it.
func (c *Case) readHead(head string) error {
	fields := map[string]*string{"parser": &c.Parser, "rule": &c.Rule, "finish": &c.FinishReason,
		"features": new(string), "reasoning": new(string), "deltas": new(string)}
	for i, line := range strings.Split(strings.TrimSpace(head), "\n") {
		if i == 0 {
			c.About = line
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if !ok || fields[key] == nil {
			return fmt.Errorf("line %d of the head is no field: %q", i+1, line)
		}
		*fields[key] = strings.TrimSpace(value)
	}
	c.Features = strings.Fields(*fields["features"])
	if r := *fields["reasoning"]; r != "" && r != "open" {
		return fmt.Errorf("reasoning can be open, or be left out; it is %q", r)
	}
	c.Open = *fields["reasoning"] == "open"
	if n := *fields["deltas"]; n != "" {
		var err error
		if c.Want.Deltas, err = strconv.Atoi(n); err != nil || c.Want.Deltas < 1 {
			return fmt.Errorf("deltas is a number from 1 on, not %q", n)
		}
	}
	return nil
}
