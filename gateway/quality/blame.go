package quality

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callgate/callgate/internal/wilson"
)

var background = context.Background() //nolint:gochecknoglobals // of lines that belong to no request

const (
	enoughCalls = 10 // of a tool, for an upstream's model to have a say about its schema
	enoughSay   = 2  // models that have one
	hopeless    = .5 // a score; a schema is to blame where all are certainly below it
)

// model is an upstream's model, however it is read.
type model struct{ provider, name string }

// voice is what a model's calls say of a tool: those of it, and all others that it makes.
type voice struct {
	model
	calls, others counts
}

// blame finds the tools whose calls fail at every model that was asked for enough of them, of two
// at least: their schemas are to blame, as long as not all that those models call fails.
func (b *Book) blame(now time.Time, all map[Target]sums) (said []event) {
	for n, voices := range b.voices(all) {
		tool := uint16(n) + firstTool
		names, is := verdict(voices)
		if is == b.isBlamed(tool) {
			continue
		}
		t := b.tool(tool)
		attrs := []any{"tool", t.Name, "schema", t.hash(), "targets", strings.Join(names, ",")}
		if is {
			b.tools.blamed[tool] = now
			said = append(said, event{slog.LevelWarn, "the schema of a tool is to blame: its calls fail at every upstream, and count against none", attrs})
			continue
		}
		delete(b.tools.blamed, tool)
		said = append(said, event{slog.LevelInfo, "the schema of a tool is not to blame any more", attrs})
	}
	return said
}

// hash is the schema's, as it is shown.
func (t Tool) hash() string { return strconv.FormatUint(t.Schema, 16) }

// voices are those of all models, by the number of the tool.
func (b *Book) voices(all map[Target]sums) [][]voice {
	out := make([][]voice, len(b.tools.seen))
	for t, s := range all {
		s.total(b.isBlamed)
		m := model{t.Provider, t.Model}
		for tool, c := range s {
			if tool < firstTool || tool == allCalls {
				continue
			}
			list := out[tool-firstTool]
			i := slices.IndexFunc(list, func(v voice) bool { return v.model == m })
			if i < 0 {
				i, list = len(list), append(list, voice{model: m})
				out[tool-firstTool] = list
			}
			v := &list[i]
			v.calls.add(c)
			v.others.add(s[allCalls])
			if !b.isBlamed(tool) { // else it is not among them
				v.others.subtract(c)
			}
		}
	}
	return out
}

// verdict says which models have called a tool often enough to tell, and whether its schema is to
// blame.
func verdict(voices []voice) (names []string, toBlame bool) {
	best := math.Inf(-1) // of the other tools, where they have been called
	toBlame = true
	for i := range voices {
		v := &voices[i]
		if v.calls.n() < enoughCalls {
			continue
		}
		names = append(names, v.provider+"/"+v.name)
		if _, high := wilson.Interval(v.calls.score(), float64(v.calls.n()), certainty); high >= hopeless {
			toBlame = false
		}
		if v.others.n() >= enoughCalls {
			best = max(best, v.others.score())
		}
	}
	slices.Sort(names)
	return names, toBlame && len(names) >= enoughSay && (math.IsInf(best, -1) || best >= hopeless)
}

func sortedNames(groups map[string]*Group) []string { return slices.Sorted(maps.Keys(groups)) }
