package chain

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// reasoning knows whether the text is inside of the model's reasoning.
type reasoning struct {
	begins  Reasoning // how the output begins, as long as that may still turn out
	open    bool
	opened  *marker // how it began; nil if the prompt did that
	classes uint16  // classes of markers that were read
	spoken  uint16  // classes of markers that were text
}

// kind is what text is at present.
func (r *reasoning) kind() abi.Kind {
	if r.open {
		return abi.Reasoning
	}
	return abi.Content
}

// opening is the marker that a literal, read now, begins reasoning with, or nil. edge says that
// it stands right behind markup, begun that text came before it.
func (r *reasoning) opening(m *meaning, at *place, edge, begun bool) *marker {
	for _, k := range m.opens {
		switch {
		case r.open && r.ends(k), !r.open && !k.first && (at.lineBlank || edge || r.classes&(1<<k.class) != 0 && !at.quoted()), !r.open && k.first && !begun:
			return k
		}
	}
	return nil
}

// closing reports whether a literal ends reasoning here, or has lost what it ends.
func (r *reasoning) closing(m *meaning, inCode bool) bool {
	for _, k := range m.closes {
		switch {
		case r.open && r.ends(k):
			return true
		case !r.open && !k.bound && !inCode && r.spoken&(1<<k.class) == 0:
			return true
		}
	}
	return false
}

// ends reports whether the markers of k are those of the open reasoning. Where the
// prompt began it, all are but those that are ordinary text.
func (r *reasoning) ends(k *marker) bool {
	if r.opened == nil {
		return !k.bound
	}
	return k.class == r.opened.class
}

// begin opens reasoning with a marker: an end marker is no surprise any more.
func (r *reasoning) begin(k *marker) {
	r.open, r.opened, r.begins = true, k, Closed
	r.classes |= 1 << k.class
}

// mention takes note of markers that are text: the end marker of such a class is text too.
func (r *reasoning) mention(m *meaning) {
	for _, k := range m.opens {
		r.spoken |= 1 << k.class
	}
}

// acts reports whether a call ends the reasoning that is open.
func (r *reasoning) acts() bool { return r.open && r.opened != nil && r.opened.acts }

// leave ends the reasoning.
func (r *reasoning) leave() { r.open, r.opened = false, nil }

// marker is a pair of literals around reasoning.
type marker struct {
	open, close string
	// class is the group whose members end one another: a model that begins with
	// <thinking> may well end with </think>, but not with [/THINK].
	class class
	// first says that open is ordinary text too and counts only as the first words
	// of the output.
	first bool
	// bound says that close is ordinary text too and counts only behind its open.
	bound bool
	// acts says that a model calls before close comes: a call ends the reasoning.
	acts bool
}

type class uint8

const (
	tags class = iota + 1
	brackets
	diamonds
	cohere
	kimi
	gemma
	apriel
	granite
	apertus
	plamo
	minicpm
)

// markers are the literals that models put around their reasoning, where these are
// not part of a framing that a parser reads. They are from the models' own chat
// templates.
var markers = [...]marker{
	{open: "<think>", close: "</think>", class: tags},
	{open: "<thinking>", close: "</thinking>", class: tags},
	{open: "<seed:think>", close: "</seed:think>", class: tags},
	{open: "<mm:think>", close: "</mm:think>", class: tags},
	{open: "<think:opensource>", close: "</think:opensource>", class: tags}, // Hunyuan 3
	{open: "助手：<think>", close: "</think>", class: tags, first: true},       // Hunyuan-A13B names itself
	{open: "<ifm|think>", close: "</ifm|think>", class: tags},
	{open: "<ifm|think_fast>", close: "</ifm|think_fast>", class: tags},
	{open: "<ifm|think_faster>", close: "</ifm|think_faster>", class: tags},
	{open: "[THINK]", close: "[/THINK]", class: brackets}, // Magistral
	{open: "◁think▷", close: "◁/think▷", class: diamonds}, // Kimi-VL
	{open: "<|START_THINKING|>", close: "<|END_THINKING|>", class: cohere},
	{open: "<|open|>think<|sep|>", close: "<|close|>think<|sep|>", class: kimi},
	{open: "<|open|> think <|sep|>", close: "<|close|> think <|sep|>", class: kimi},
	{open: "<|channel>thought\n", close: "<channel|>", class: gemma},
	{open: "<|channel>", close: "<channel|>", class: gemma}, // without its name
	{open: "<|inner_prefix|>", close: "<|inner_suffix|>", class: apertus, acts: true},
	{open: "<|plamo:begin_think:plamo|>", close: "<|plamo:end_think:plamo|>", class: plamo},
	{open: "<|thought_start|>", close: "<|thought_end|>", class: minicpm}, // MiniCPM3
	{open: "Here are my reasoning steps:", close: "[BEGIN FINAL RESPONSE]", class: apriel, first: true},
	{open: "Here is my thought process:", close: "Here is my response:", class: granite, first: true, bound: true},
	{open: "Here's my thought process:", close: "Here's my response:", class: granite, first: true, bound: true},
}

// wrappers are literals around the answer, right behind the reasoning: of ERNIE 4.5
// and of Hunyuan-A13B.
var wrappers = [...]marker{
	{open: "<response>", close: "</response>"},
	{open: "<answer>", close: "</answer>"},
}

// endTokens end a model's turn. Servers cut them off; where one does not they are
// the last text of the output, and only there they are no text.
var endTokens = [...]string{
	"<|im_end|>", "</s>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|call|>", "<|return|>",
	"<｜end▁of▁sentence｜>", "<|END_OF_TURN_TOKEN|>", "<end_of_turn>", "<turn|>", "<|tool_response>",
	"[e~[", "<SPECIAL_12>", "<|message_sep|>", "<end_of_sentence>",
	"</assistant>", "<｜hy_eos:opensource｜>", "<|observation|>", "<|user|>", "<start_function_response>", "<|end_of_msg|>", "<|calls|>", "<|endoftext|>", "<|end_of_text|>", "<seed:eos>", "<|eom|>", "<|eot|>",
	"<|plamo:tag|>", "<|role_end|>",
	qwenResult + ":", qwenResult, qwenReturn + ":", qwenReturn,
}

// What Qwen-Agent stops at: the result of a call, and the answer to that.
const (
	qwenResult = "✿RESULT✿"
	qwenReturn = "✿RETURN✿"
)

// results begin the result of a call, or the answer to it. Behind a call the model has invented them.
var results = [...]string{qwenResult + ":", qwenResult, qwenReturn + ":", qwenReturn}

// mentions stand in text about chats, not in answers.
var mentions = [...]string{"<|im_start|>", "<|start_header_id|>", "[INST]"}

// others begin a turn that is not the model's. Behind the end of its own it has invented that.
var others = [...]string{
	"<|im_start|>user", "<|im_start|>human", "<|im_start|>tool", "<|im_start|>system", "<|im_start|>function",
	"<|start_header_id|>user", "<|start_header_id|>ipython", "<|start_header_id|>tool", "<|start_header_id|>system",
	"<|start_of_role|>user", "<|start_of_role|>tool_response", "<|start_of_role|>system",
	"<start_of_turn>user", "<|turn>user", "<|start|>user", "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>",
	"<|im_user|>", "<|user|>", "<｜User｜>", "[INST]",
}

// fences begin and end blocks of code in Markdown.
var fences = [...]string{"```", "~~~"}

// meaning is what a literal that the scanner finds may stand for.
type meaning struct {
	opens, closes []*marker
	wraps, ends   *marker // of the answer
	endToken      bool
	lead          bool // it names the speaker where the output begins
	mention       bool // it stands in text about chats, not in answers
	other         bool // it begins a turn of somebody else
	result        bool // it begins a call's result
	trigger       bool
	callEnd       bool     // it ends a call
	openers       []string // of the parsers whose trigger it is, those that are markup
	fence         string   // the fence that it is or begins with
}

// addReasoning adds the literals around reasoning.
func addReasoning(of func(literal string) *meaning) {
	for i := range markers {
		m := &markers[i]
		of(m.open).opens = append(of(m.open).opens, m)
		of(m.close).closes = append(of(m.close).closes, m)
	}
	for i := range wrappers {
		of(wrappers[i].open).wraps = &wrappers[i]
		of(wrappers[i].close).ends = &wrappers[i]
	}
}

// meanings lists the literals of a plan.
func (p *Plan) meanings() map[string]*meaning {
	all := map[string]*meaning{}
	of := func(literal string) *meaning {
		if all[literal] == nil {
			all[literal] = &meaning{}
		}
		return all[literal]
	}
	for _, f := range fences {
		of(f).fence = f
	}
	for _, t := range endTokens {
		of(t).endToken = true
	}
	for _, t := range results {
		of(t).result = true
	}
	for _, t := range [...]string{"<|CHATBOT_TOKEN|>", "<|START_OF_TURN_TOKEN|>"} {
		of(t).lead = true
	}
	for _, t := range mentions {
		of(t).mention = true
	}
	for _, t := range others {
		of(t).other = true
		of(t).mention = slices.ContainsFunc(mentions[:], func(m string) bool { return strings.HasPrefix(t, m) })
	}
	if p.reasoning {
		addReasoning(of)
	}
	for _, c := range p.candidates {
		for _, t := range c.Triggers {
			of(t).addTrigger(t, c.Triggers)
		}
		if c.End != "" {
			of(c.End).callEnd = true
		}
	}
	return all
}

// onlyEnds reports whether a literal ends a call and means nothing else.
func (m *meaning) onlyEnds() bool {
	return m.callEnd && !m.trigger && !m.endToken && len(m.opens)+len(m.closes) == 0 && m.wraps == nil && m.ends == nil
}

// addTrigger notes that the literal is a trigger of a parser that has these.
func (m *meaning) addTrigger(literal string, all []string) {
	m.trigger = true
	for _, t := range all {
		if t != "" && !chars.IsLetter(t[0]) && !slices.Contains(m.openers, t) {
			m.openers = append(m.openers, t)
		}
	}
	for _, f := range fences {
		if len(literal) > len(f) && literal[:len(f)] == f {
			m.fence = f
		}
	}
}
