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

func TestBufferKeeps(t *testing.T) {
	t.Parallel()
	b := region.Buffer{Keep: 3}
	b.Append([]byte("abcdef"))
	b.Advance(5)
	b.Drop()
	b.Append([]byte("gh"))
	if string(b.Rest()) != "fgh" || string(b.Last(9)) != "cde" || string(b.Last(2)) != "de" || b.At() != 5 || b.Fed() != 8 {
		t.Errorf("rest %q behind %q at %d of %d, want \"fgh\" behind \"cde\" at 5 of 8", b.Rest(), b.Last(9), b.At(), b.Fed())
	}
	if b.Return(1); string(b.Rest()) != "cdefgh" || b.At() != 2 {
		t.Errorf("what is given back is %q at %d, want \"cdefgh\" at 2", b.Rest(), b.At())
	}
	b.Keep = 0
	if b.Drop(); len(b.Last(9)) != 0 || string(b.Rest()) != "cdefgh" {
		t.Errorf("%q is kept in front of %q, want nothing in front of \"cdefgh\"", b.Last(9), b.Rest())
	}
}
