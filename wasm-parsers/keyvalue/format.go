// Package keyvalue reads tool calls that are written as pairs of tags, one for the
// key and one for the value of each argument, such as
//
//	<tool_call>get_weather
//	<arg_key>city</arg_key>
//	<arg_value>Oslo</arg_value>
//	</tool_call>
//
// White space between the tags is markup, that inside a value is the model's text.
// The text says nothing of types, so the offered tool's schema decides. Nothing is
// escaped either, so a value may hold tags: one that closes is told from one that
// is text by what follows it, within a bounded look ahead.
package keyvalue

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// format is what tells one family member from another: the names of its elements.
type format struct {
	wrap  string // around all calls, or empty
	call  string // around one call
	sep   string // a tag behind the function's name, or empty
	key   string // around a key
	kind  string // around a value's type, or empty
	value string // around a value
	// suffix says that a colon and a word may stand at the end of every tag, the
	// same in all of a region.
	suffix bool
	// json says that an object may stand behind the name, or in place of all, as models
	// write it that know other forms too.
	json bool

	plain *tags // without a suffix
}

// Specs are the parsers of the family.
func Specs() []sdk.Spec {
	return []sdk.Spec{GLM45(), GLM47(), Laguna(), HyV3(), IFM(), IQuestQ1()}
}

// glm is the form of the GLM models since 4.5. From 4.7 on they write no white
// space between the tags; all parsers of it read both ways.
func glm() format {
	return format{call: "tool_call", key: "arg_key", value: "arg_value", json: true}
}

// GLM45 reads the form of GLM-4.5 and 4.6. HyperCLOVA X writes the same.
func GLM45() sdk.Spec {
	return spec(glm(), abi.Parser{
		Name:     "glm45",
		Aliases:  []string{"glm", "hyperclovax"},
		Priority: 90,
		Formats:  []string{`<tool_call>NAME\n<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n</tool_call>`},
		Models:   []string{"*glm-4.5*", "*glm-4.6*", "*hyperclovax*think*"},
	})
}

// GLM47 reads the form of GLM-4.7, GLM-5, Ling 3 and Spark 2.5.
func GLM47() sdk.Spec {
	return spec(glm(), abi.Parser{
		Name:     "glm47",
		Aliases:  []string{"glm-4.7", "ling3", "spark25"},
		Priority: 89,
		Formats:  []string{"<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>"},
		Models:   []string{"*glm-4.7*", "*glm-5*", "*ling-3*", "*spark2.5*", "*spark-2.5*"},
	})
}

// Laguna reads the form of poolside's Laguna models: S writes as GLM-4.7 does, XS
// as GLM-4.5.
func Laguna() sdk.Spec {
	return spec(glm(), abi.Parser{
		Name:     "laguna",
		Aliases:  []string{"poolside_v1", "poolside-v1"},
		Priority: 50,
		Formats:  []string{"<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>"},
		Models:   []string{"*laguna*"},
	})
}

// HyV3 reads the form of Hunyuan 3, whose tokenizer may put a suffix at the end of
// every tag, and that of Hunyuan 4, which is the same without the separator.
func HyV3() sdk.Spec {
	s := spec(format{
		wrap: "tool_calls", call: "tool_call", sep: "tool_sep", key: "arg_key", value: "arg_value", suffix: true,
	}, abi.Parser{
		Name:     "hy_v3",
		Aliases:  []string{"hunyuan", "hy_v4"},
		Priority: 92, // a separator is more than GLM's form has
		Formats: []string{
			"<tool_calls><tool_call>NAME<tool_sep><arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call></tool_calls>",
			"<tool_calls:SUFFIX><tool_call:SUFFIX>NAME<tool_sep:SUFFIX>…</tool_call:SUFFIX></tool_calls:SUFFIX>",
			"<tool_calls><tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call></tool_calls>",
		},
		Models: []string{"*hy3*", "*hunyuan-3*", "*hunyuan3*", "*hy4*", "*hunyuan-4*", "*hunyuan4*"},
	})
	s.Triggers = append(s.Triggers, "<tool_calls:", "<tool_call:")
	return s
}

// IFM reads the form of IFM's K2-Horizon, which may give the type of a value, or be an
// object, as the request has it.
func IFM() sdk.Spec {
	return spec(format{
		wrap: "ifm|tool_calls", call: "ifm|tool_call", key: "ifm|arg_key", kind: "ifm|arg_type", value: "ifm|arg_value", json: true,
	}, abi.Parser{
		Name:     "ifm",
		Aliases:  []string{"k2_horizon"},
		Priority: 45,
		Formats: []string{"<ifm|tool_calls><ifm|tool_call>NAME<ifm|arg_key>KEY</ifm|arg_key><ifm|arg_type>TYPE</ifm|arg_type>" +
			"<ifm|arg_value>VALUE</ifm|arg_value></ifm|tool_call></ifm|tool_calls>",
			`<ifm|tool_calls><ifm|tool_call>{"name", "arguments"}</ifm|tool_call></ifm|tool_calls>`},
		Models: []string{"*k2-horizon*"},
	})
}

// IQuestQ1 reads the form of IQuest's Q1, which is GLM-4.7's with another tag around a call.
func IQuestQ1() sdk.Spec {
	return spec(format{call: "iquest_tool_call", key: "arg_key", value: "arg_value"}, abi.Parser{
		Name:     "iquest_q1",
		Priority: 45,
		Formats:  []string{"<iquest_tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></iquest_tool_call>"},
		Models:   []string{"*iquest*q1*"},
	})
}

// spec completes a parser: its triggers, and an example in its own tags.
func spec(f format, p abi.Parser) sdk.Spec {
	t := f.tags("")
	f.plain = t
	p.Triggers = []string{t.callOpen}
	if f.wrap != "" {
		p.Triggers = []string{t.wrapOpen, t.callOpen}
	}
	p.Example = t.wrapOpen + t.callOpen + "get_weather" + t.sep + t.keyOpen + "city" + t.keyClose +
		t.valueOpen + "Oslo" + t.valueClose + t.callClose + t.wrapClose
	return region.Spec(p, f.canParse, func() sdk.Reusable { return &parser{format: &f} })
}
