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

// GoldenAll is Golden for each parser of a family, in a sub-test with its name; the
// cases are in a folder of dir with its name.
func GoldenAll(t *testing.T, dir string, specs ...sdk.Spec) {
	t.Helper()
	for _, spec := range specs {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			Golden(t, spec, filepath.Join(dir, spec.Name))
		})
	}
}

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
	for _, c := range Cases(t, dir) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			got := Format(Stable(t, spec, c.Options, c.Input, c.Reason))
			if *update {
				if err := os.WriteFile(filepath.Join(dir, c.Name+extension), []byte(c.head+got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != c.Events {
				t.Errorf("%s\n%q gives:\n%s\nwant:\n%s", c.Why, c.Input, got, c.Events)
			}
		})
	}
}

// Case is one golden file.
type Case struct {
	Name    string // of the file, without .case
	Why     string
	Options sdk.Options // with the tools of the folder
	Reason  sdk.Reason
	Input   string
	Events  string // as Format writes them

	head string // the file up to its events
}

// Cases reads the golden files of dir, for tests that take their inputs and do more
// with them than Golden does. They are sorted by name; a folder without any fails
// the test.
func Cases(tb testing.TB, dir string) []Case {
	tb.Helper()
	tools, err := readTools(filepath.Join(dir, "tools.json"))
	if err != nil {
		tb.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"+extension))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no cases in %s (%v)", dir, err)
	}
	cases := make([]Case, len(files))
	for i, file := range files {
		if cases[i], err = readCase(file); err != nil {
			tb.Fatal(err)
		}
		cases[i].Options.Tools = tools
	}
	return cases
}

const (
	extension  = ".case"
	eventsMark = "-- events --\n"
)

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
	why, options, _ := strings.Cut(why, "-- options --\n")
	c := Case{
		Name: strings.TrimSuffix(filepath.Base(file), extension), Why: strings.TrimSpace(why), Events: events, head: head + eventsMark,
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
	c.Options.MaxDepth = o.MaxDepth
	for key, value := range o.Settings {
		c.Options.Settings = append(c.Options.Settings, abi.Setting{Key: key, Value: value})
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
