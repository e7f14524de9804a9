package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/internal/guests"
	"github.com/callgate/callgate/internal/install"
	"github.com/callgate/callgate/plugins"
)

// guest is the example parser in one language, loaded.
type guest struct {
	row row
	sandboxed
}

// measureLanguages measures what the same parser costs in each language that the example
// of the SDK is written in: its size, its load, and one call read by the chain.
func measureLanguages(ctx context.Context, b *bench) (*table, error) {
	t := &table{
		Title: "the same parser in each language (sdk/examples), sandboxed",
		Columns: []column{{"module", "KB"}, {"load ms", "first"}, {"load ms", "cached"}, {"memory", "pages"},
			{"1 KB µs", "best"}, {"1 KB µs", "median"}, {"16 KB µs", "best"}},
		Note: "load: until the first answer can be read, before and after the compiled code is in the cache. pages: of 64 KiB, that an instance begins with.",
	}
	var loaded []*guest
	defer func() {
		for _, g := range loaded {
			g.close()
		}
	}()
	for _, language := range guests.Languages() {
		wasm, err := guests.Build(ctx, filepath.Join("sdk", "examples"), language)
		if errors.As(err, new(install.MissingError)) {
			t.Note += fmt.Sprintf("\nNot measured: %s. %v.", language, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		g, err := b.loadGuest(ctx, language, wasm)
		if err != nil {
			return nil, err
		}
		loaded = append(loaded, g)
	}
	return t, compareGuests(ctx, b.time, t, loaded)
}

// loadGuest loads a guest twice, the second time from the cache.
func (b *bench) loadGuest(ctx context.Context, language string, wasm []byte) (*guest, error) {
	g := &guest{row: row{name: language, figures: []figure{figure(float64(len(wasm)) / 1000)}}}
	pages := none()
	for range 2 {
		if g.host != nil {
			g.close()
		}
		host, err := plugins.New(ctx, plugins.Config{CacheDir: filepath.Join(b.dir, "cache-"+language), Isolation: plugins.IsolationReset})
		if err != nil {
			return nil, err
		}
		g.host = host
		if err := host.Load(ctx, plugins.Source{Name: language, Wasm: wasm}); err != nil {
			g.close()
			return nil, err
		}
		m := host.Modules()[0]
		g.row.figures = append(g.row.figures, figure(float64(m.Load)/float64(time.Millisecond)))
		pages = figure(m.Pages)
	}
	g.row.figures = append(g.row.figures, pages)
	return g, nil
}

// compareGuests lets the guests read the same calls in turn.
func compareGuests(ctx context.Context, total time.Duration, t *table, loaded []*guest) error {
	const small, large = 1 << 10, 16 << 10
	var batches []batch
	for _, g := range loaded {
		p := g.host.Parsers()[0]
		plan := chain.NewPlan([]chain.Candidate{chain.NewCandidate(&p.Parser)}, chain.PlanOptions{})
		for _, size := range []int{small, large} {
			text := linesCall(size)
			batches = append(batches, repeated(func() error { return readCall(ctx, g, plan, text) }))
		}
	}
	times, err := interleave(ctx, total*time.Duration(len(loaded)), batches...)
	if err != nil {
		return err
	}
	for i, g := range loaded {
		short, long := times[2*i], times[2*i+1]
		g.row.figures = append(g.row.figures, best(short), median(short), best(long))
		t.Rows = append(t.Rows, g.row)
	}
	return nil
}

// linesCall is a call in the examples' format, of about some size.
func linesCall(size int) []byte {
	const line = "\n| a line of text, with \"quotes\" in it"
	return []byte("@@call write_file\npath: a.txt\ncontent: text" + strings.Repeat(line, size/len(line)) + "\n@@end")
}
