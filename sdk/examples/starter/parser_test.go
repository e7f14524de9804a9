package main

import (
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/sdktest"
)

// TestGolden reads every case of testdata whole and in many pieces, which must make no
// difference. Write a new case without its events and run
//
//	go test -run Golden . -args -update
//
// then look at what it wrote.
func TestGolden(t *testing.T) {
	sdktest.Golden(t, Spec(), "testdata")
}

// TestExample reads what the manifest shows to people.
func TestExample(t *testing.T) {
	sdktest.Example(t, Spec(), sdk.Options{}, sdktest.Call{Name: "get_weather", Args: `{"city": "Oslo"}`})
}

func TestCanParse(t *testing.T) {
	sdktest.Verdicts(t, Spec(), map[string]sdk.Verdict{
		`<use tool="`: sdk.Maybe, `<use tool="f"`: sdk.Maybe, `<use tool="f">`: sdk.Maybe, `<use tool="f"> {`: sdk.Yes,
		`<use tool="">`: sdk.No, `<use tool="f g`: sdk.No, `<use tool="f">[`: sdk.No, `<use tool="f">text`: sdk.No,
	})
}

// TestFragments puts the format's own markers together at random: that finds what single
// changed bytes do not.
func TestFragments(t *testing.T) {
	sdktest.Fragments(t, Spec(), sdk.Options{MaxDepth: 4}, []string{
		opening, "get_weather", nameEnd, closing, opening + "f" + nameEnd, `{"city": "Oslo"}`, `{"a": `, `[1, {`, `}`, `]`, `'x'`, `"`, `,`, " ", "\n", "<", "</",
	}, 500)
}

// FuzzParser is for go test -fuzz FuzzParser.
func FuzzParser(f *testing.F) {
	spec := Spec()
	f.Add(uint8(0), spec.Example, false)
	f.Add(uint8(0), spec.Example[:30], true)
	f.Add(uint8(0), opening+"f"+nameEnd+`{'a': [True, None,],}`+closing, false)
	sdktest.Fuzz(f, sdk.Options{MaxDepth: 8}, spec)
}
