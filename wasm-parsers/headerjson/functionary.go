package headerjson

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// dialect is what tells one version of functionary from another. Its output is a
// row of messages, each with a header that names the recipient; the prompt ends
// inside the first header:
//
//	all [sep] TEXT marker NAME [sep] ARGS …
//
// Code for the interpreter is written as it is, without JSON around it.
type dialect struct {
	markers  []string // any of them begins a header
	sep      string   // ends a name, if the markers are not ordinary text
	ordinary bool     // the markers are ordinary text too
	ends     []string // any of them ends the last message
	turnEnds []string // these too, and are the gateway's to drop
}

const (
	toAll       = "all"    // the recipient of text
	interpreter = "python" // the recipient of code
	codeKey     = "code"   // the argument that the code is
)

// FunctionaryV32 reads the form of functionary v3.2.
func FunctionaryV32() sdk.Spec {
	d := &dialect{
		markers: []string{">>>"}, ordinary: true,
		turnEnds: []string{"<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"},
	}
	return d.spec(abi.Parser{
		Name: "functionary_v32", Aliases: []string{"functionary_v3_2", "functionary-v3.2"}, Priority: 40,
		Formats: []string{">>>all TEXT>>>NAME {…}"},
		Example: `>>>get_weather {"city": "Oslo"}`,
		Starts:  []string{">>>", "all\n", ""},
		Models:  []string{"*functionary*v3.2*"},
	})
}

// FunctionaryV2 reads the form of functionary v2.2 to v2.5.
func FunctionaryV2() sdk.Spec {
	d := &dialect{
		markers: []string{"<|from|>assistant\n<|recipient|>", "<|from|>assistant <|recipient|>", "<|recipient|>"},
		sep:     "<|content|>",
		ends:    []string{"<|stop|>"}, turnEnds: []string{"</s>"},
	}
	return d.spec(abi.Parser{
		Name: "functionary_v2", Aliases: []string{"functionary_v2_2", "functionary-v2"}, Priority: 40,
		Formats:  []string{"<|from|>assistant <|recipient|>NAME <|content|>{…}<|stop|>"},
		Triggers: d.markers[:2],
		Starts:   []string{"<|recipient|>", "all\n<|content|>", ""},
		Models:   []string{"*functionary*v2*"},
	})
}

func (d *dialect) spec(p abi.Parser) sdk.Spec {
	p.Framing = true
	return region.Spec(p, d.canParse, func() sdk.Reusable { return &messages{dialect: d} })
}

// canParse wants a header, and for the ordinary markers what may follow it.
func (d *dialect) canParse(head []byte) sdk.Verdict {
	rest, v := cut(head, d.markers...)
	if v == sdk.Maybe {
		return v
	}
	_, _, v = d.message(rest)
	return v
}

// message reads the header that b begins with, and looks at what follows it if the
// markers are ordinary text: only an object does so, or code. n is how long the
// header is.
func (d *dialect) message(b []byte) (name string, n int, v sdk.Verdict) {
	for n < len(b) && nameByte(b[n]) {
		n++
	}
	switch {
	case n > callobject.MaxName, n == 0 && len(b) > 0:
		return "", 0, sdk.No
	case n == len(b):
		return "", 0, sdk.Maybe
	}
	name = string(b[:n])
	gap := b[n:]
	body := chars.SkipSpace(gap)
	switch space := len(gap) - len(body); {
	case space > maxSpace:
		return "", 0, sdk.No
	case !d.ordinary:
		return name, n + space + len(d.sep), markup.Match(body, d.sep)
	case gap[0] == '\n' && (name == toAll || name == interpreter):
		return name, n + 1, sdk.Yes
	case space == 0, name == toAll:
		return "", 0, sdk.No
	}
	return name, n, markup.Match(body, "{")
}
