package breaker_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/breaker"
)

// step is something that happens to a breaker and to its model.
type step struct {
	Do      string
	Pass    int // which of the passes given so far, by remainder
	Outcome breaker.Outcome
	Wait    time.Duration
}

// model is what a breaker has to do, written down as simply as it can be: no
// gobreaker, no generations, and every result looks for itself whether it counts.
type model struct {
	settings            breaker.Settings
	state               breaker.State
	opened              time.Time
	probe               int // index of the pass that is the probe, -1 if none
	probed              time.Time
	epoch               int // number of changes and resets
	passes              []modelPass
	successes, failures uint64
	totals              breaker.Counts
	cooling             time.Time
}

type modelPass struct {
	epoch int
	done  bool
}

func (m *model) change(to breaker.State) {
	m.state, m.probe = to, -1
	m.epoch++
	m.opened = time.Now()
}

func (m *model) look() {
	if m.state == breaker.Open && time.Since(m.opened) >= m.settings.Open {
		m.change(breaker.HalfOpen)
	}
}

func (m *model) available() bool {
	m.look()
	free := m.probe < 0 || time.Since(m.probed) >= m.settings.ProbeTimeout
	return m.state == breaker.Closed || m.state == breaker.HalfOpen && free
}

func (m *model) allow() bool {
	if !m.available() {
		m.totals.Rejections++
		return false
	}
	if m.state == breaker.HalfOpen {
		m.probe, m.probed = len(m.passes), time.Now()
	}
	m.passes = append(m.passes, modelPass{epoch: m.epoch})
	m.totals.Requests++
	return true
}

func (m *model) done(i int, o breaker.Outcome) {
	p := &m.passes[i]
	if p.done {
		return
	}
	p.done = true
	switch o {
	case breaker.Success:
		m.totals.Successes++
	case breaker.Failure:
		m.totals.Failures++
	default:
		m.totals.Excluded++
	}
	if p.epoch != m.epoch || m.state == breaker.HalfOpen && i != m.probe {
		return // it began before the last change, or another is the probe by now
	}
	m.probe = -1
	switch o {
	case breaker.Success:
		m.successes, m.failures = m.successes+1, 0
		if m.state == breaker.HalfOpen {
			m.change(breaker.Closed)
		}
	case breaker.Failure:
		m.successes, m.failures = 0, m.failures+1
		if m.state == breaker.HalfOpen || m.failures >= uint64(m.settings.Failures) {
			m.change(breaker.Open)
		}
	}
}

func (m *model) reset() {
	m.successes, m.failures, m.cooling = 0, 0, time.Time{}
	m.change(breaker.Closed)
}

// compare says in what the breaker differs from its model.
func (m *model) compare(b *breaker.Breaker) error {
	m.look()
	reopens := 0.0
	if m.state == breaker.Open {
		reopens = (m.settings.Open - time.Since(m.opened)).Seconds()
	}
	open := 0
	for _, p := range m.passes {
		if !p.done {
			open++
		}
	}
	s := b.Snapshot()
	got := fmt.Sprint(s.State, s.ConsecutiveSuccesses, s.ConsecutiveFailures, s.Totals, s.InFlight, s.ReopensIn, len(s.History), b.Cooling(), b.Available())
	want := fmt.Sprint(m.state, m.successes, m.failures, m.totals, open, reopens, min(64, m.epoch), max(0, time.Until(m.cooling)), m.available())
	if got != want {
		return fmt.Errorf("the breaker is %s\nthe model %s", got, want)
	}
	return nil
}

// replay does the steps with a breaker and its model and returns the first difference.
func replay(s breaker.Settings, steps []step) error {
	b := breaker.New(s)
	m := &model{settings: s, state: breaker.Closed, probe: -1}
	var passes []*breaker.Pass
	for i, step := range steps {
		if err := apply(b, m, &passes, step); err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, step, err)
		}
		if err := m.compare(b); err != nil {
			return fmt.Errorf("after step %d, %+v: %w", i, step, err)
		}
	}
	return nil
}

func apply(b *breaker.Breaker, m *model, passes *[]*breaker.Pass, s step) error {
	switch s.Do {
	case "allow":
		want := m.allow()
		pass, err := b.Allow()
		var open *breaker.OpenError
		switch {
		case err == nil && !want:
			return errors.New("the model lets no request through")
		case err != nil && want:
			return fmt.Errorf("the model lets it through: %w", err)
		case err == nil:
			*passes = append(*passes, &pass)
		case !errors.As(err, &open) || open.State != m.state || open.RetryAfter <= 0:
			return fmt.Errorf("got %w", err)
		case m.state == breaker.Open && open.RetryAfter != max(time.Millisecond, m.settings.Open-time.Since(m.opened)):
			return fmt.Errorf("retry after %s", open.RetryAfter)
		}
	case "done":
		if len(*passes) > 0 {
			i := len(*passes) - 1 - s.Pass%len(*passes)
			m.done(i, s.Outcome)
			(*passes)[i].Done(s.Outcome, "")
		}
	case "wait":
		time.Sleep(s.Wait)
	case "reset":
		m.reset()
		b.Reset("")
	case "cool":
		if end := time.Now().Add(s.Wait); s.Wait > 0 && end.After(m.cooling) {
			m.cooling = end
		}
		b.CoolDown(s.Wait)
	}
	return nil
}

// TestModel drives a breaker and a simple model of one through random steps.
func TestModel(t *testing.T) {
	t.Parallel()
	// A reset is rare, so that there is a way to every state before the next one.
	deeds := slices.Concat(slices.Repeat([]string{"allow", "done"}, 12), slices.Repeat([]string{"wait"}, 6), []string{"cool", "reset"})
	steps := rapid.Custom(func(t *rapid.T) step {
		return step{
			Do: rapid.SampledFrom(deeds).Draw(t, "do"),
			// Mostly a young pass, which can still change something.
			Pass:    rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3, 7, 20}).Draw(t, "pass"),
			Outcome: rapid.SampledFrom([]breaker.Outcome{breaker.Failure, breaker.Failure, breaker.Success, breaker.Excluded}).Draw(t, "outcome"),
			Wait:    rapid.SampledFrom([]time.Duration{0, 1, time.Second - 1, time.Second, 3 * time.Second, time.Minute}).Draw(t, "wait"),
		}
	})
	seconds := rapid.Map(rapid.IntRange(1, 4), func(n int) time.Duration { return time.Duration(n) * time.Second })
	rapid.Check(t, func(rt *rapid.T) {
		settings := breaker.Settings{
			Failures:     rapid.IntRange(1, 4).Draw(rt, "failures"),
			Open:         seconds.Draw(rt, "open"),
			ProbeTimeout: seconds.Draw(rt, "probe timeout"),
		}
		script := rapid.SliceOfN(steps, 100, 200).Draw(rt, "steps")
		var err error
		synctest.Test(t, func(*testing.T) { err = replay(settings, script) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}
