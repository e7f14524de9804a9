package region_test

import (
	"testing"

	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

func TestBuffer(t *testing.T) {
	t.Parallel()
	var b region.Buffer
	for _, step := range []struct {
		name    string
		do      func()
		rest    string
		at, fed int
	}{
		{"empty", func() {}, "", 0, 0},
		{"Drop of nothing", b.Drop, "", 0, 0},
		{"Append", func() { b.Append([]byte("abc def")) }, "abc def", 0, 7},
		{"Advance", func() { b.Advance(2) }, "c def", 2, 7},
		{"AdvanceTo", func() { b.AdvanceTo(b.Rest()[2:]) }, "def", 4, 7},
		{"Return", func() { b.Return(3) }, " def", 3, 7},
		{"Drop", b.Drop, " def", 3, 7},
		{"Append behind a rest", func() { b.Append([]byte("gh")) }, " defgh", 3, 9},
		{"Advance behind a Drop", func() { b.Advance(4) }, "gh", 7, 9},
		{"Return to what is there", func() { b.Return(5) }, "efgh", 5, 9},
		{"Return to what was dropped", func() { b.Return(1) }, " defgh", 3, 9},
		{"AdvanceTo the end", func() { b.AdvanceTo(nil) }, "", 9, 9},
		{"Drop of all", b.Drop, "", 9, 9},
		{"Append to nothing", func() { b.Append([]byte("i")) }, "i", 9, 10},
	} {
		step.do()
		if string(b.Rest()) != step.rest || b.At() != step.at || b.Fed() != step.fed {
			t.Fatalf("%s: rest %q at %d of %d, want %q at %d of %d", step.name, b.Rest(), b.At(), b.Fed(), step.rest, step.at, step.fed)
		}
	}
}
