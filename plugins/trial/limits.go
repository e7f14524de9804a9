package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/sdk/abi"
)

// stress is a text that is too much of something.
type stress struct {
	name string
	text string
	size int // of the pieces that it is fed in
}

// tooMuch are texts that are longer than a response may be, and that nest deeper than a
// parser should follow. They stand behind what begins a region.
func (s *subject) tooMuch() []stress {
	const over = 1<<20 + 1<<16
	begins := s.begins()
	if s.Example != "" {
		begins = append(slices.Clone(begins), s.Example[:len(s.Example)/2])
		if i := strings.IndexAny(s.Example, "{[("); i >= 0 {
			begins = append(begins, s.Example[:i+1])
		}
	}
	var all []stress
	for _, begin := range begins {
		for _, fill := range []string{"x", " ", `\"`, "<", "]"} {
			all = append(all, stress{fmt.Sprintf("1 MiB of %q behind %.60q", fill, begin), begin + strings.Repeat(fill, over/len(fill)), abi.MaxFeed})
		}
		all = append(all, stress{fmt.Sprintf("1 MiB of %q in small pieces behind %.60q", "x", begin), begin + strings.Repeat("x", over), 64})
		for _, open := range []string{`{"a":`, "[", "{", "(", "<a>"} {
			all = append(all, stress{fmt.Sprintf("%d times %q behind %.60q", 1<<14, open, begin), begin + strings.Repeat(open, 1<<14), abi.MaxFeed})
		}
	}
	return all
}

// tryLimits reads texts that are too much of something. The gateway ends a response that
// is too long; before that the parser must keep the contract and stay within its limits.
func (t *trial) tryLimits(ctx context.Context, s *subject) {
	check := Check{Name: "limits", Parser: s.Name}
	for _, st := range s.tooMuch() {
		check.Tried++
		problem := t.endure(ctx, s, st)
		if ctx.Err() != nil {
			return
		}
		if problem != "" {
			t.fail(Failure{Check: check.Name, Parser: s.Name, Case: st.name, Problem: problem, broken: true})
			return
		}
	}
	t.report.Checks = append(t.report.Checks, check)
}

func (t *trial) endure(ctx context.Context, s *subject, st stress) string {
	var pieces []string
	for rest := st.text; rest != ""; rest = rest[min(len(rest), st.size):] {
		pieces = append(pieces, rest[:min(len(rest), st.size)])
	}
	t.took = 0
	patient, cancel := context.WithTimeout(ctx, t.cfg.patient(patience))
	defer cancel()
	_, err := t.read(patient, s.Name, input{st.text, s.options, abi.Length, false}, pieces)
	f, isFault := errors.AsType[*fault](err)
	switch {
	case isFault && f.kind == plugins.KindInputLimit: // as it should be
	case isFault && f.kind == plugins.KindCanceled:
		return fmt.Sprintf("%s: not read within %v, and a response has %v", plugins.KindTotalLimit, patience, allowed)
	case err != nil:
		return err.Error()
	}
	if t.took > t.cfg.patient(allowed) {
		return fmt.Sprintf("%s: took %v of the %v that a response has", plugins.KindTotalLimit, t.took.Round(time.Millisecond), allowed)
	}
	return ""
}

// The sizes of a text that repeats itself, and how many times as much work the larger may
// be: it is 16 times as long, and a collector of garbage that had nothing to do for the smaller
// may double the work.
const (
	smallSize = 1_000_000 / 16
	largeSize = 1_000_000
	maxGrowth = 32
)

// tryGrowth checks that work grows as the text does when a text repeats what begins a
// region, as one that attacks the parser would. Config.Read finds the regions, and the
// sandbox counts the work, so that a busy machine makes no difference.
func (t *trial) tryGrowth(ctx context.Context, s *subject) {
	check := Check{Name: "growth", Parser: s.Name}
	units := append(slices.Clone(s.begins()), s.Example, s.Example[:len(s.Example)/2])
	units = slices.DeleteFunc(units, func(unit string) bool { return unit == "" })
	for _, unit := range units {
		check.Tried++
		small, problem := t.work(ctx, s, strings.Repeat(unit, smallSize/len(unit)+1))
		large := int64(0)
		if problem == "" {
			large, problem = t.work(ctx, s, strings.Repeat(unit, largeSize/len(unit)))
		}
		if ctx.Err() != nil {
			return
		}
		ratio := float64(large) / float64(max(small, 1))
		check.Ratio = max(check.Ratio, math.Round(ratio*10)/10)
		if problem == "" && ratio > maxGrowth {
			problem = fmt.Sprintf("work does not grow as the text does: 1 MB is %.0f times as much as 64 KB, want at most %d", ratio, maxGrowth)
		}
		if problem != "" {
			t.fail(Failure{Check: check.Name, Parser: s.Name, Case: fmt.Sprintf("%.60q again and again", unit), Problem: problem, broken: true})
			return
		}
	}
	t.report.Checks = append(t.report.Checks, check)
}

// work is how much the plugin works to read a text, or what is wrong with it.
func (t *trial) work(ctx context.Context, s *subject, text string) (int64, string) {
	session := t.host.Session()
	defer session.Close()
	if w := faultIn(t.cfg.Read(ctx, session, s.Parser, s.options, text)); w != "" {
		return 0, fmt.Sprintf("%d KB of it: %s", len(text)/1000, w)
	}
	return session.Work(), ""
}

// faultIn finds what a chain warns of that is the plugin's doing.
func faultIn(warnings []string) string {
	for _, w := range warnings {
		parts := strings.SplitN(w, ":", 3)
		if len(parts) == 3 && parts[0] == "plugin" && parts[2] != string(plugins.KindInputLimit) {
			return parts[2]
		}
	}
	return ""
}
