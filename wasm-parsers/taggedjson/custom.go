package taggedjson

import (
	"errors"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// Custom reads a form that the operator describes with settings:
//
//	start          the marker that begins a call; the gateway looks for it
//	end            the marker that ends it; empty if there is none
//	body           json (the default) or name_json: NAME {"city": "Oslo"}
//	separator      between NAME and the arguments; only with name_json
//	name_key       the key of the name, default name; only with json
//	arguments_key  the key of the arguments, default arguments; only with json
func Custom() sdk.Spec {
	return sdk.Spec{
		Parser: abi.Parser{
			Name: "custom", Priority: 25, Heuristic: true,
			Formats: []string{"JSON between markers from the configuration"},
		},
		New: region.New(func() sdk.Reusable { return &customParser{} }),
	}
}

// customParser is a parser whose format is in its options.
type customParser struct{ parser }

// Reset implements sdk.Reusable.
func (p *customParser) Reset(o sdk.Options) error {
	f, err := readSettings(o.Settings)
	if err != nil {
		return err
	}
	p.format = &f
	return p.parser.Reset(o)
}

const (
	bodyJSON  = "json"
	bodyNamed = "name_json"
)

// readSettings makes a format of the settings. Its errors name the key, the value
// and what to do.
func readSettings(settings []abi.Setting) (format, error) {
	values := map[string]string{
		"start": "", "end": "", "body": bodyJSON, "separator": "", "name_key": "name", "arguments_key": "arguments",
	}
	given := map[string]bool{}
	for _, s := range settings {
		if _, known := values[s.Key]; !known {
			return format{}, refuse(s.Key, s.Value, "remove it; the keys are start, end, body, separator, name_key and arguments_key")
		}
		values[s.Key], given[s.Key] = s.Value, true
	}
	f := format{
		forms: []form{{
			open: []string{values["start"]},
			// White space is allowed around the body and the separator anyway.
			close: strings.TrimLeft(values["end"], " \t\r\n"),
		}},
		separator: strings.Trim(values["separator"], " \t\r\n"),
		named:     values["body"] == bodyNamed,
		keys:      callobject.Keys{Name: []string{values["name_key"]}, Args: []string{values["arguments_key"]}, ID: []string{"id"}},
	}
	if !f.named && values["body"] != bodyJSON {
		return f, refuse("body", values["body"], "use json or name_json")
	}
	if err := f.checkMarkers(); err != nil {
		return f, err
	}
	return f, f.checkKeys(values, given)
}

func (f *format) checkMarkers() error {
	start, end := f.forms[0].open[0], f.forms[0].close
	switch {
	case strings.TrimSpace(start) == "":
		return refuse("start", start, "give the marker that begins a call")
	case end != start && strings.HasPrefix(end, start):
		return refuse("end", end, "choose an end that does not begin with the start, "+relaxed.Quote(start))
	case !f.named && end != "" && strings.IndexByte("{,", end[0]) >= 0:
		return refuse("end", end, "choose an end that does not begin like another call, with { or a comma")
	case strings.IndexByte(f.separator, '{') >= 0:
		return refuse("separator", f.separator, "leave out the brace, it belongs to the arguments")
	}
	return nil
}

func (f *format) checkKeys(values map[string]string, given map[string]bool) error {
	if !f.named && given["separator"] {
		return refuse("separator", f.separator, "remove it, or set body to name_json")
	}
	for _, key := range []string{"name_key", "arguments_key"} {
		switch {
		case f.named && given[key]:
			return refuse(key, values[key], "remove it, or set body to json")
		case values[key] == "":
			return refuse(key, "", "give the key, or remove the setting for the default")
		}
	}
	if values["name_key"] == values["arguments_key"] {
		return refuse("arguments_key", values["arguments_key"], "choose another key than that of the name")
	}
	return nil
}

func refuse(key, value, fix string) error {
	return errors.New("setting " + key + " = " + relaxed.Quote(value) + ": " + fix)
}
