package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// Case is one golden file. It reads
//
//	Why this case is there, in prose.
//	-- options --
//	{"reason": "length", "settings": {"start": "<<"}, "max_depth": 4, "fenced": true}
//	-- input --
//	"the region as a JSON string, "
//	"several lines are joined"
//	-- events --
//	call_start 0 "get_time"
//	args 0 "{}"
//	call_end 0
//	end 45
//
// options may be left out.
type Case struct {
	Name    string // of the file, without .case
	Why     string
	Options sdk.Options // with the tools of the folder
	Reason  sdk.Reason
	Input   string
	Events  string // as Format writes them

	head string // the file up to its events
}

// File is the text of the case's file if its events were these.
func (c *Case) File(events string) string { return c.head + events }

// ReadCases reads the golden files of a folder, *.case, sorted by name; there may be
// none. The offered tools are in tools.json beside them, which may be missing:
// {"get_time": {}, "search": {"query": "string", "note": "string|null"}}, a parameter
// with an empty type being one whose schema says none.
func ReadCases(dir string) ([]Case, error) {
	tools, err := readTools(filepath.Join(dir, "tools.json"))
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("golden cases: %w", err)
	}
	var cases []Case
	for _, e := range entries { // sorted by name
		if e.IsDir() || filepath.Ext(e.Name()) != Extension {
			continue
		}
		c, err := readCase(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		c.Options.Tools = tools
		cases = append(cases, c)
	}
	return cases, nil
}

// Extension is that of a golden file.
const Extension = ".case"

const eventsMark = "-- events --\n"

func readCase(file string) (Case, error) {
	data, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return Case{}, fmt.Errorf("golden case: %w", err)
	}
	text := string(data)
	head, events, _ := strings.Cut(text, eventsMark)
	why, input, found := strings.Cut(head, "-- input --\n")
	if !found {
		return Case{}, fmt.Errorf("%s has no input", file)
	}
	if !strings.HasSuffix(head, "\n") {
		head += "\n" // the events may be written behind it
	}
	why, options, _ := strings.Cut(why, "-- options --\n")
	c := Case{
		Name: strings.TrimSuffix(filepath.Base(file), Extension), Why: strings.TrimSpace(why), Events: events, head: head + eventsMark,
	}
	for line := range strings.Lines(input) {
		var piece string
		if err := json.Unmarshal([]byte(line), &piece); err != nil {
			return c, fmt.Errorf("input of %s: %w", file, err)
		}
		c.Input += piece
	}
	if options != "" {
		if err := c.readOptions(options); err != nil {
			return c, fmt.Errorf("options of %s: %w", file, err)
		}
	}
	return c, nil
}

func (c *Case) readOptions(text string) error {
	var o struct {
		Reason   string            `json:"reason"`
		Settings map[string]string `json:"settings"`
		MaxDepth int               `json:"max_depth"`
		Fenced   bool              `json:"fenced"`
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		return fmt.Errorf("not as expected: %w", err)
	}
	switch o.Reason {
	case "", "stop":
	case "length":
		c.Reason = sdk.Length
	default:
		return fmt.Errorf("reason %q, want stop or length", o.Reason)
	}
	c.Options.MaxDepth, c.Options.Fenced = o.MaxDepth, o.Fenced
	for _, key := range slices.Sorted(maps.Keys(o.Settings)) { // the same each time
		c.Options.Settings = append(c.Options.Settings, abi.Setting{Key: key, Value: o.Settings[key]})
	}
	return nil
}

// typeNames are the names of a schema's types.
var typeNames = map[string]sdk.Types{
	"": 0, "string": abi.String, "integer": abi.Integer, "number": abi.Number,
	"boolean": abi.Boolean, "object": abi.Object, "array": abi.Array, "null": abi.Null,
}

// readTools reads the offered tools; no file is no tools.
func readTools(file string) ([]sdk.Tool, error) {
	data, err := os.ReadFile(filepath.Clean(file))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	var raw map[string]map[string]string
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var tools []sdk.Tool
	for name, params := range raw {
		tool := sdk.Tool{Name: name}
		for param, types := range params {
			p := sdk.Param{Name: param}
			for name := range strings.SplitSeq(types, "|") {
				t, ok := typeNames[name]
				if !ok {
					return nil, fmt.Errorf("%s: parameter %s has the unknown type %q", file, param, name)
				}
				p.Types |= t
			}
			tool.Params = append(tool.Params, p)
		}
		tools = append(tools, tool)
	}
	slices.SortFunc(tools, func(a, b sdk.Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools, nil
}
