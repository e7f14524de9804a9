package sdktest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

var update = flag.Bool("update", false, "rewrite the events of golden files")

// Golden runs the cases in the *.case files of dir with Stable. A file reads
//
//	Why this case is there, in prose.
//	-- options --
//	{"reason": "length", "settings": {"start": "<<"}, "max_depth": 4}
//	-- input --
//	"the region as a JSON string, "
//	"several lines are joined"
//	-- events --
//	call_start 0 "get_time"
//	args 0 "{}"
//	call_end 0
//	end 45
//
// options may be left out. The offered tools are in dir/tools.json, which may be
// missing: {"get_time": {}, "search": {"query": "string", "note": "string|null"}},
// a parameter with an empty type being one whose schema says none. With the flag
// -update the events are written anew, to be read before they are committed.
func Golden(t *testing.T, spec sdk.Spec, dir string) {
	t.Helper()
	tools, err := readTools(filepath.Join(dir, "tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.case"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s (%v)", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".case"), func(t *testing.T) {
			t.Parallel()
			c, err := readCase(file)
			if err != nil {
				t.Fatal(err)
			}
			c.options.Tools = tools
			got := Format(Stable(t, spec, c.options, c.input, c.reason))
			if *update {
				if err := os.WriteFile(file, []byte(c.head+got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != c.events {
				t.Errorf("%s\n%q gives:\n%s\nwant:\n%s", c.why, c.input, got, c.events)
			}
		})
	}
}

// goldenCase is one file.
type goldenCase struct {
	why     string
	options sdk.Options
	reason  sdk.Reason
	input   string
	head    string // the file up to its events
	events  string
}

const eventsMark = "-- events --\n"

func readCase(file string) (goldenCase, error) {
	data, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return goldenCase{}, fmt.Errorf("golden case: %w", err)
	}
	text := string(data)
	head, events, _ := strings.Cut(text, eventsMark)
	why, input, found := strings.Cut(head, "-- input --\n")
	if !found {
		return goldenCase{}, fmt.Errorf("%s has no input", file)
	}
	why, options, _ := strings.Cut(why, "-- options --\n")
	c := goldenCase{why: strings.TrimSpace(why), head: head + eventsMark, events: events}
	for line := range strings.Lines(input) {
		var piece string
		if err := json.Unmarshal([]byte(line), &piece); err != nil {
			return c, fmt.Errorf("input of %s: %w", file, err)
		}
		c.input += piece
	}
	if options != "" {
		if err := c.readOptions(options); err != nil {
			return c, fmt.Errorf("options of %s: %w", file, err)
		}
	}
	return c, nil
}

func (c *goldenCase) readOptions(text string) error {
	var o struct {
		Reason   string            `json:"reason"`
		Settings map[string]string `json:"settings"`
		MaxDepth int               `json:"max_depth"`
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		return fmt.Errorf("not as expected: %w", err)
	}
	switch o.Reason {
	case "", "stop":
	case "length":
		c.reason = sdk.Length
	default:
		return fmt.Errorf("reason %q, want stop or length", o.Reason)
	}
	c.options.MaxDepth = o.MaxDepth
	for key, value := range o.Settings {
		c.options.Settings = append(c.options.Settings, abi.Setting{Key: key, Value: value})
	}
	return nil
}

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
