package keys

import (
	"fmt"
	"net/netip"
	"testing"
)

// TestMany has 10,000 keys: a text is compared with at most one of them, and finding it allocates no more than its bytes.
func TestMany(t *testing.T) {
	const many = 10_000
	var all []Key
	texts := map[string]string{}
	for i := range many {
		text, s := NewSecret()
		name := fmt.Sprintf("key-%05d", i)
		all, texts[name] = append(all, Key{Name: name, Secrets: []Secret{s}}), text
	}
	b := NewBook(Options{})
	b.Configure(all, nil, false)
	for begin, candidates := range b.index.Load().secrets {
		if len(candidates) != 1 {
			t.Errorf("got %d candidates for %x, want 1", len(candidates), begin)
		}
	}
	from := func() netip.Addr { return netip.MustParseAddr("127.0.0.1") }
	for name, text := range texts {
		if k, _, no := b.Find(text, from); no != nil || k.Name != name {
			t.Fatalf("%s: got %+v, %+v", name, k, no)
		}
	}
	text := texts["key-05000"]
	if n := testing.AllocsPerRun(100, func() { b.Find(text, from) }); n > 1 {
		t.Errorf("got %.0f allocations to find a key, want that of its bytes alone", n)
	}
	got := 0
	for after, more := "", true; more; {
		var page []*Entry
		if page, more = b.List(after, 999); len(page) > 0 {
			after = page[len(page)-1].Name
		}
		got += len(page)
	}
	if got != many {
		t.Errorf("got %d keys in pages, want %d", got, many)
	}
}
