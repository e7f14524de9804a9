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
	Responses = "responses" // POST /responses, over upstreams that speak chat completions or responses
	State     = "state"     // responses are stored, and found again by their ids
	Messages  = "messages"  // Anthropic's POST /messages, over upstreams that speak chat completions or messages
	Routes    = "routes"    // embeddings, completions, moderations and audio, by the model's name
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
	return []string{Chat, Stream, Tools, Reasoning, Fidelity, Bytes, Errors, Retry, Again, Cancel, Strict, Limits, Keys, HTTP,
		Responses, State, Messages, Routes, Structured}
}

// Case is one file of the suite.
type Case struct {
	Name     string   // its path, without ending: tools/hermes_one_call
	About    string   // what it shows, in a sentence
	Features []string // what a target must claim
	Parser   string   // what reads the model's text: hermes, auto, none …
	Open     bool     // the prompt has begun the model's reasoning, and the gateway is told so
	Rule     string   // what is broken where the case fails

	// Level says who demands what is in Want, and Beyond what the levels above it demand
	// beside. A case of Core names its Sources, as the function of that name has them, any
	// other says Why it is not of Core.
	Level   Level
	Sources []string
	Why     string
	Beyond  []Beyond

	// Path is where the request goes below the target's base URL; "" is /chat/completions.
	// Then is, of a talk of two requests, the second: "GET /responses/$ID", or "POST" to Path
	// with Next as its body; $ID is the id of the first answer. The second answer is judged.
	Path, Then string
	Next       json.RawMessage

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
	// Says is an answer, and the next, that the upstream gives in the protocol that it is
	// asked in; see said.
	Says             []*said
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
	c := Case{Name: name, FinishReason: "stop", Level: Own}
	beyond := map[Level]*Case{}
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
		into := &c
		if dir, file, _ := strings.Cut(f.Name, "/"); !known && Level(dir).rank() > 0 {
			if beyond[Level(dir)] == nil {
				beyond[Level(dir)] = new(Case)
			}
			into = beyond[Level(dir)]
			read, known = files["want/"+file]
		}
		if !known {
			return c, fmt.Errorf("%s: there is no file called %s in a case", name, f.Name)
		}
		if strings.HasPrefix(f.Name, "want/") && len(bytes.TrimSpace(f.Data)) == 0 {
			c.Asked = append(c.Asked, f.Name)
			continue
		}
		if err := read(into, f.Data); err != nil {
			return c, fmt.Errorf("%s: %s: %w", name, f.Name, err)
		}
	}
	if err := c.setBeyond(beyond); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// setBeyond sets what the levels above the case's own want beside it. Each has its rule in the
// head, and a rule has its files.
func (c *Case) setBeyond(files map[Level]*Case) error {
	want := c.Want
	rules := c.Beyond
	c.Beyond = nil
	for _, l := range Levels() {
		i := slices.IndexFunc(rules, func(b Beyond) bool { return b.Level == l })
		switch {
		case i < 0 && files[l] == nil:
			continue
		case i < 0 || files[l] == nil:
			return fmt.Errorf("a field %s: says what is broken where the files of %s/ fail: one needs the other", l, l)
		case l.within(c.Level):
			return fmt.Errorf("files of %s/ are for a case of a level before it", l)
		}
		want = want.with(&files[l].Want)
		c.Beyond = append(c.Beyond, Beyond{l, rules[i].Rule, want})
	}
	return nil
}

// readHead reads the sentence and the fields below it.
func (c *Case) readHead(head string) (err error) {
	fields := map[string]*string{"parser": &c.Parser, "rule": &c.Rule, "finish": &c.FinishReason,
		"path": &c.Path, "then": &c.Then, "why": &c.Why, "level": new(string), "source": new(string),
		"strict": new(string), "callgate": new(string),
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
	c.Sources = strings.Fields(*fields["source"])
	for _, l := range []Level{Strict, Own} {
		if rule := *fields[string(l)]; rule != "" {
			c.Beyond = append(c.Beyond, Beyond{Level: l, Rule: rule})
		}
	}
	if c.Level, err = ParseLevel(*fields["level"]); err != nil {
		return err
	}
	if r := *fields["reasoning"]; r != "" && r != "open" {
		return fmt.Errorf("reasoning can be open, or be left out; it is %q", r)
	}
	c.Open = *fields["reasoning"] == "open"
	if n := *fields["deltas"]; n != "" {
		if c.Want.Deltas, err = strconv.Atoi(n); err != nil || c.Want.Deltas < 1 {
			return fmt.Errorf("deltas is a number from 1 on, not %q", n)
		}
	}
	return nil
}
