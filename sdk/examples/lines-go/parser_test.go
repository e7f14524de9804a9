package main

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/sdktest"
)

// TestGolden reads the cases that the parsers in all languages share. This one writes
// their events: go test -run Golden ./sdk/examples/lines-go -args -update
func TestGolden(t *testing.T) {
	t.Parallel()
	sdktest.Golden(t, Spec(), "../cases")
}

func TestCanParse(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("n", maxName)
	sdktest.Verdicts(t, Spec(), map[string]sdk.Verdict{
		"@@call ": sdk.Maybe, "@@call f": sdk.Maybe, "@@call f\n": sdk.Yes, "@@call f\nanything": sdk.Yes,
		"@@call \n": sdk.No, "@@call f g": sdk.No, "@@call f:": sdk.No, "@@end": sdk.No,
		opening + longest: sdk.Maybe, opening + longest + "\n": sdk.Yes, opening + longest + "n": sdk.No,
	})
}

// TestFragments puts the format's own markers together at random.
func TestFragments(t *testing.T) {
	t.Parallel()
	tools := sdktest.Cases(t, "../cases")[0].Options.Tools
	sdktest.Fragments(t, Spec(), sdk.Options{Tools: tools}, []string{
		opening, closing, "get_weather", "\n", "city", ":", ": ", "days: 3\n", "@", "@@", "| ", "|", " ", "True", "null", "-1.5e3", `"`, "\\", "\x00", "\xff",
	}, 500)
}

// FuzzParser is for go test -fuzz FuzzParser.
func FuzzParser(f *testing.F) {
	f.Add(uint8(0), "@@call f\na: 1\n| x\nb: True\n@@call g\n@@end", false)
	f.Add(uint8(0), "@@call f\na: 1", true)
	sdktest.Fuzz(f, sdk.Options{}, Spec())
}
