package demo

import (
	"context"
	"slices"
)

// model is one model of the demo: how it writes, and what goes wrong with it. The
// fields below write are zero in a model that does nothing wrong.
type model struct {
	name  string
	write func(answer) output

	wish wish
	// decide makes the answer; nil: by the rules that all follow.
	decide func(*request) answer
	spoil  func(*writer, *request) // spoils an answer that has calls
	// refuse gives the error that comes in place of an answer, if any.
	refuse   func(context.Context, *Provider, ask) error
	toolless bool  // the upstream drops the tools, and does not count them
	caches   bool  // it says how much of the prompt an earlier request had
	slow     bool  // the first token is late
	end      place // where the answer ends too early
	inBand   bool  // the upstream says that it ends; else the connection breaks
}

// output is what the model writes: text, and with the format native calls beside
// it.
type output struct {
	reasoning string // beside the text; the other formats have it in the text
	text      string
	calls     []call
}

// ask is what a model that refuses needs to know of a request.
type ask struct {
	body    []byte
	stream  bool
	request *request
}

// place is a place in an answer.
type place int

// The places at which an answer may end.
const (
	atEnd     place = iota
	afterRole       // behind the first chunk, which has nothing but the role
	inText
	inCall // if there is one
)

func models() []model {
	return slices.Concat(formatModels(), []model{echoModel()}, spoilingModels(), failingModels(), guardModels(), structuredModels(), noToolsModels(), adstudioModels())
}

// answer is what the model means to say to a request.
func (m model) answer(r *request) answer {
	if m.decide != nil {
		return m.decide(r)
	}
	return decide(r, m.wish)
}

func namesOf(models []model) []string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.name
	}
	return names
}

// Formats returns the names of the models that do nothing wrong, in the order of
// their families. The command demo asks them all.
func Formats() []string { return namesOf(formatModels()) }

// Faults returns the names of the models that do something wrong, in the order of
// the package's comment. Some of them never answer.
func Faults() []string { return namesOf(slices.Concat(spoilingModels(), failingModels())) }

// Guards returns the names of the models that are clean on the wire and of no use
// without a guard, in the order of the package's comment.
func Guards() []string { return namesOf(guardModels()) }

// Structured returns the names of the models that are wrong where an answer is to be JSON, in the order
// of the package's comment.
func Structured() []string { return namesOf(structuredModels()) }

// NoTools returns the names of the models without support for tools: no_tools/FORMAT,
// for the formats whose templates the demo knows.
func NoTools() []string { return namesOf(noToolsModels()) }

// Scripts returns the names of the models that play a part in an example.
func Scripts() []string { return namesOf(adstudioModels()) }
