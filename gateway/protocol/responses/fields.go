package responses

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// field is a member of a request.
type field int

// The members of a request. Others go on to an upstream that speaks the API; elsewhere they are left
// out with a warning.
const (
	fModel field = iota
	fInput
	fInstructions
	fTools
	fToolChoice
	fText
	fReasoning
	fMaxOutput
	fTemperature
	fTopP
	fTopLogprobs
	fPresence
	fFrequency
	fUser
	fServiceTier
	fCacheKey
	fCacheRetention
	fSafetyID
	fMaxToolCalls
	fMetadata
	fInclude
	fTruncation
	fBackground
	fStore
	fStream
	fStreamOptions
	fParallel
	fPrevious
	fConversation
	fPrompt
	fContext
	numFields
)

// kinds are what values may be.
type kinds int

const (
	aString kinds = 1 << iota
	aBool
	aNumber
	anInteger
	anObject
	anArray
)

// schema is what the request's members are called and may be.
var schema = [numFields]struct {
	name string
	is   kinds
}{
	fModel: {"model", aString}, fInput: {"input", aString | anArray}, fInstructions: {"instructions", aString},
	fTools: {"tools", anArray}, fToolChoice: {"tool_choice", aString | anObject}, fText: {"text", anObject},
	fReasoning: {"reasoning", anObject}, fMaxOutput: {"max_output_tokens", anInteger}, fTemperature: {"temperature", aNumber},
	fTopP: {"top_p", aNumber}, fTopLogprobs: {"top_logprobs", anInteger},
	fPresence: {"presence_penalty", aNumber}, fFrequency: {"frequency_penalty", aNumber}, fUser: {"user", aString},
	fServiceTier: {"service_tier", aString}, fCacheKey: {"prompt_cache_key", aString}, fCacheRetention: {"prompt_cache_retention", aString},
	fSafetyID: {"safety_identifier", aString}, fMaxToolCalls: {"max_tool_calls", anInteger}, fMetadata: {"metadata", anObject},
	fInclude: {"include", anArray}, fTruncation: {"truncation", aString}, fBackground: {"background", aBool},
	fStore: {"store", aBool}, fStream: {"stream", aBool}, fStreamOptions: {"stream_options", anObject},
	fParallel: {"parallel_tool_calls", aBool}, fPrevious: {"previous_response_id", aString}, fConversation: {"conversation", aString | anObject},
	fPrompt: {"prompt", anObject}, fContext: {"context_management", anObject | anArray},
}

// fieldNames are the names alone.
var fieldNames = func() (names [numFields]string) {
	for i := range schema {
		names[i] = schema[i].name
	}
	return names
}()

// fieldsByName are the members by their names.
var fieldsByName = func() map[string]field {
	by := make(map[string]field, numFields)
	for i, name := range fieldNames {
		by[name] = field(i)
	}
	return by
}()

// fields are the values of a request's members as they came, nil for those that are missing or
// null.
type fields [numFields][]byte

// read finds the members. unknown is told of those that the API does not have.
func (f *fields) read(body []byte, unknown func(name string)) error {
	var err error
	ok := wire.Members(body, 0, func(key []byte, v wire.Span) bool {
		if at, ok := fieldsByName[string(key)]; ok {
			if !v.IsNull(body) {
				f[at] = v.Of(body)
			}
		} else if err = misspelt(key); err == nil && !v.IsNull(body) {
			unknown(wire.Unquote(slices.Concat([]byte{'"'}, key, []byte{'"'})))
		}
		return err == nil
	})
	switch {
	case err != nil:
		return err
	case !ok:
		return invalid("", "The request body must be a JSON object.")
	}
	return nil
}

// misspelt refuses a key that some parsers of JSON take for one that is known here.
func misspelt(key []byte) error {
	const escaped = 6 // digits and all
	if len(key) > escaped*len("previous_response_id") {
		return nil
	}
	plain := wire.Key(key)
	for _, name := range fieldNames {
		if bytes.EqualFold(plain, []byte(name)) {
			return invalid(string(plain), "The field %q must be written %q: servers disagree about whether they are the same.", gateway.Excerpt(key), name)
		}
	}
	return nil
}

// Model is the name that the client asked for.
func (f *fields) Model() string { return wire.Unquote(f[fModel]) }

// Stream says that the client wants events.
func (f *fields) Stream() bool { return f.isTrue(fStream) }

// PreviousResponseID is the response that the request goes on from, or "".
func (f *fields) PreviousResponseID() string { return wire.Unquote(f[fPrevious]) }

// Conversation is the id of the conversation that the request is a part of, or "".
func (f *fields) Conversation() string {
	c := f[fConversation]
	if len(c) > 0 && c[0] == '{' {
		return wire.Unquote(object(c).get("id"))
	}
	return wire.Unquote(c)
}

// Background says that the client wants to come back for the response.
func (f *fields) Background() bool { return f.isTrue(fBackground) }

// Store says whether the client wants the response stored, which is so unless it says no.
func (f *fields) Store() bool { return string(f[fStore]) != "false" }

// Truncates says that the client would rather lose the oldest items than have an error.
func (f *fields) Truncates() bool { return string(f[fTruncation]) == `"auto"` }

// Metadata is the client's, an object as it came, or nil.
func (f *fields) Metadata() []byte { return f[fMetadata] }

// Includes reports whether the client wants something more in the response.
func (f *fields) Includes(what string) (found bool) {
	wire.Elements(f[fInclude], 0, func(_ int, v wire.Span) bool {
		found = wire.Unquote(v.Of(f[fInclude])) == what
		return !found
	})
	return found
}

// Stateless refuses what needs a store.
func (f *fields) Stateless() error {
	for _, m := range [...]struct {
		id   field
		used bool
	}{{fPrevious, f[fPrevious] != nil}, {fConversation, f[fConversation] != nil}, {fBackground, f.Background()}} {
		if m.used {
			name := fieldNames[m.id]
			return invalid(name, "The field %q needs a store of responses, which this gateway does not have: send the whole conversation as input.", name)
		}
	}
	return nil
}

func (f *fields) isTrue(id field) bool { return string(f[id]) == "true" }

// check refuses values that the API does not have.
func (f *fields) check() error {
	for id, v := range f {
		if v != nil && !isKind(v, schema[id].is) {
			return invalid(schema[id].name, "The field %q must be %s, not %s.", schema[id].name, schema[id].is, gateway.Excerpt(v))
		}
	}
	if f[fModel] == nil {
		return invalid("model", "The field \"model\" is missing: name the model to use.")
	}
	if err := f.checkHistory(); err != nil {
		return err
	}
	if t := string(f[fTruncation]); t != "" && t != `"auto"` && t != `"disabled"` {
		return invalid("truncation", "The field \"truncation\" must be \"auto\" or \"disabled\", not %s.", gateway.Excerpt(f[fTruncation]))
	}
	if err := f.checkNumbers(); err != nil {
		return err
	}
	if err := f.checkInclude(); err != nil {
		return err
	}
	return f.checkMetadata()
}

// checkHistory checks what says where the conversation comes from and goes to.
func (f *fields) checkHistory() error {
	if f[fPrevious] != nil && f[fConversation] != nil {
		return invalid("previous_response_id", "The fields \"previous_response_id\" and \"conversation\" exclude each other: send one of them.")
	}
	if c := f[fConversation]; isObject(c) && wire.Unquote(object(c).get("id")) == "" {
		return invalid("conversation.id", "conversation.id is missing: name the conversation.")
	}
	if f[fInput] == nil && f[fPrevious] == nil && f[fConversation] == nil && f[fPrompt] == nil {
		return invalid("input", "The field \"input\" is missing: send a text or an array of items.")
	}
	if f.isTrue(fBackground) && string(f[fStore]) == "false" {
		return invalid("background", "The field \"background\" needs \"store\": true: who comes back finds the response there.")
	}
	return nil
}

func (f *fields) checkNumbers() error {
	const minOutput, maxLogprobs = 16, 20
	for _, limit := range [...]struct {
		id       field
		min, max float64
	}{{fMaxOutput, minOutput, 1 << 31}, {fTopLogprobs, 0, maxLogprobs}, {fMaxToolCalls, 1, 1 << 31}, {fTemperature, 0, 2}, {fTopP, 0, 1}, {fPresence, -2, 2}, {fFrequency, -2, 2}} {
		v := f[limit.id]
		if v == nil {
			continue
		}
		n, err := strconv.ParseFloat(string(v), 64)
		switch {
		case err == nil && n < limit.min:
			return invalid(schema[limit.id].name, "The field %q must be at least %v, not %s.", schema[limit.id].name, limit.min, gateway.Excerpt(v))
		case err != nil || n > limit.max:
			return invalid(schema[limit.id].name, "The field %q must be at most %v, not %s.", schema[limit.id].name, int64(limit.max), gateway.Excerpt(v))
		}
	}
	return nil
}

func (f *fields) checkInclude() (err error) {
	const maxInclude = 64
	list := f[fInclude]
	wire.Elements(list, 0, func(n int, v wire.Span) bool {
		if n >= maxInclude || list[v.Start] != '"' {
			err = invalid("include", "The field \"include\" must be an array of at most %d strings.", maxInclude)
		}
		return err == nil
	})
	return err
}

// checkMetadata refuses metadata beyond OpenAI's limits.
func (f *fields) checkMetadata() (err error) {
	err = CheckMetadata("metadata", f[fMetadata])
	if err == nil && f[fReasoning] != nil {
		effort := object(f[fReasoning]).get("effort")
		if effort != nil && effort[0] != '"' {
			return invalid("reasoning.effort", "reasoning.effort must be a string, not %s.", gateway.Excerpt(effort))
		}
	}
	return err
}

// CheckMetadata refuses metadata, an object or nil, that is beyond OpenAI's limits: 16 pairs,
// keys of 64 characters, values of 512.
func CheckMetadata(param string, metadata []byte) (err error) {
	const maxPairs, maxKey, maxValue = 16, 64, 512
	n := 0
	wire.Members(metadata, 0, func(key []byte, v wire.Span) bool {
		n++
		quoted := slices.Concat([]byte{'"'}, key, []byte{'"'})
		name := wire.Unquote(quoted)
		value := v.Of(metadata)
		switch {
		case n > maxPairs:
			err = invalid(param, "The field %q has more than %d pairs.", param, maxPairs)
		case utf8.RuneCountInString(name) > maxKey:
			err = invalid(param, "A key of %q is longer than %d characters.", param, maxKey)
		case value[0] != '"':
			err = invalid(param+"."+gateway.ExcerptOf(name, maxKey), "The values of %q must be strings, not %s.", param, gateway.Excerpt(value))
		case utf8.RuneCountInString(wire.Unquote(value)) > maxValue:
			err = invalid(param+"."+gateway.ExcerptOf(name, maxKey), "A value of %q is longer than %d characters.", param, maxValue)
		}
		return err == nil
	})
	return err
}

// isKind reports whether a value is of one of the kinds.
func isKind(v []byte, is kinds) bool {
	switch v[0] {
	case '"':
		return is&aString != 0
	case '{':
		return is&anObject != 0
	case '[':
		return is&anArray != 0
	case 't', 'f':
		return is&aBool != 0
	}
	return is&aNumber != 0 || is&anInteger != 0 && !bytes.ContainsAny(v, ".eE")
}

// String names the kinds in an error.
func (k kinds) String() string {
	var words []string
	for _, w := range [...]struct {
		kind kinds
		word string
	}{{aString, "a string"}, {aBool, "true or false"}, {aNumber, "a number"}, {anInteger, "a whole number"}, {anObject, "an object"}, {anArray, "an array"}} {
		if k&w.kind != 0 {
			words = append(words, w.word)
		}
	}
	text := words[0]
	for _, w := range words[1:] {
		text += " or " + w
	}
	return text
}
