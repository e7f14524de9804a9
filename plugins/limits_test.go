package plugins_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/plugins"
	. "github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

func open(t *testing.T, s *plugins.Session, parser string) *plugins.Run {
	t.Helper()
	r, err := s.Open(t.Context(), parser, abi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantKind(t *testing.T, err error, want plugins.ErrorKind) {
	t.Helper()
	if got := kindOf(err); got != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

func TestInputLimit(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{Limits: plugins.Limits{Input: 10}, Failures: 1})
	load(t, h, "hand.wasm", Guest{}.Wasm())
	load(t, h, "other.wasm", Guest{Manifest: Manifest("other")}.Wasm())
	s := h.Session()
	defer s.Close()
	a, b := open(t, s, "hand"), open(t, s, "other")
	if _, err := a.Feed(t.Context(), []byte("12345678")); err != nil {
		t.Error(err)
	}
	_, err := b.Feed(t.Context(), []byte("123")) // all of a response count together
	wantKind(t, err, plugins.KindInputLimit)
	if want := `parser "other" (plugin other.wasm): the response is longer than 10 bytes`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	b.Close()
	if got := h.Parsers()[1].State; got != plugins.StateOK {
		t.Errorf("got state %s: the parser is not to blame", got)
	}
}

// TestInputIsGivenBack has parsers that leave most of a text, which then is fed again to whoever reads on: it
// counts once, wherever they say so.
func TestInputIsGivenBack(t *testing.T) {
	t.Parallel()
	malformed := string(abi.AppendEvent(nil, abi.Event{Kind: abi.Malformed, To: 1}))
	for name, guest := range map[string]Guest{
		"end in a feed of several pieces": Gives(abi.Event{Kind: abi.End, To: 1}),
		"malformed at the end of the output": {Raw: malformed, Funcs: []Func{Feed(Const64(0)),
			{Name: abi.ExportFinish, Params: "ii", Results: "I", Body: Const64(abi.Pack(EventsAt, uint32(len(malformed))))}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, plugins.Config{Limits: plugins.Limits{Input: 3 * abi.MaxFeed}})
			load(t, h, "hand.wasm", guest.Wasm())
			s := h.Session()
			defer s.Close()
			for i := range 10 {
				if _, err := feedIn(t.Context(), s, "hand", strings.Repeat("x", 2*abi.MaxFeed)); err != nil {
					t.Fatalf("region %d: %v, want that what is fed again counts once", i, err)
				}
			}
			r := open(t, s, "hand")
			defer r.Close()
			_, err := r.Feed(t.Context(), []byte(strings.Repeat("x", 4*abi.MaxFeed)))
			wantKind(t, err, plugins.KindInputLimit)
		})
	}
}

// TestInputOfOneThatFails has a parser that fails on a text which another then reads: it is one text.
func TestInputOfOneThatFails(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{Limits: plugins.Limits{Input: 3 * abi.MaxFeed}})
	load(t, h, "hand.wasm", Guest{Funcs: []Func{Feed(Unreachable)}}.Wasm())
	load(t, h, "other.wasm", Guest{Manifest: Manifest("other")}.Wasm())
	s := h.Session()
	defer s.Close()
	text := strings.Repeat("x", 2*abi.MaxFeed)
	_, err := feedIn(t.Context(), s, "hand", text)
	wantKind(t, err, plugins.KindTrap)
	if _, err := feedIn(t.Context(), s, "other", text); err != nil {
		t.Errorf("got %v, want the text read", err)
	}
	_, err = feedIn(t.Context(), s, "other", text)
	wantKind(t, err, plugins.KindInputLimit)
}

// TestOutputOfManyRegions checks that the parser is not blamed for what many regions give together: a text may
// begin as many as it likes.
func TestOutputOfManyRegions(t *testing.T) {
	t.Parallel()
	for _, size := range []int{60, 200} {
		h := newHost(t, plugins.Config{Limits: plugins.Limits{Output: 100}, Failures: 1})
		load(t, h, "hand.wasm", Gives(abi.Event{Kind: abi.Content, Text: strings.Repeat("x", size)}).Wasm())
		s := h.Session()
		var err error
		for i := 0; err == nil && i < 3; i++ {
			_, err = feedIn(t.Context(), s, "hand", "x")
		}
		s.Close()
		wantKind(t, err, plugins.KindOutputLimit)
		want := plugins.StateOK
		if size > 100 { // one alone does it
			want = plugins.StateQuarantined
		}
		if got := h.Parsers()[0].State; got != want {
			t.Errorf("regions of %d bytes of output: got state %s, want %s", size, got, want)
		}
	}
}

func TestTotalTime(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{Limits: plugins.Limits{Time: time.Hour, Total: 50 * time.Millisecond}})
	load(t, h, "hand.wasm", Guest{Globals: []int32{0}, Funcs: []Func{Feed( // counts to 2^20
		Const(1<<20), GlobalSet, 0, Loop, Void, GlobalGet, 0, Const(-1), Add, GlobalSet, 0, GlobalGet, 0, BrIf, 0, End, Const64(0))}}.Wasm())
	s := h.Session()
	defer s.Close()
	r := open(t, s, "hand")
	var err error
	calls := 0
	for ; err == nil && calls < 10_000; calls++ {
		_, err = r.Feed(t.Context(), []byte("x"))
	}
	wantKind(t, err, plugins.KindTotalLimit)
	if want := `parser "hand" (plugin hand.wasm): stopped after 50ms of the response`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if calls < 2 {
		t.Error("the first call ended it")
	}
	_, err = s.CanParse(t.Context(), "hand", nil)
	wantKind(t, err, plugins.KindTotalLimit)
	if _, err := feed(t, h, "hand", "x"); err != nil {
		t.Error(err)
	}
}

func TestHandles(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{Limits: plugins.Limits{Handles: 2}, Failures: 1})
	load(t, h, "hand.wasm", Guest{Globals: []int32{0}, Funcs: []Func{
		// The handle is how many there were.
		{Name: abi.ExportOpen, Params: "iii", Results: "i", Body: Code(GlobalGet, 0, GlobalGet, 0, Const(1), Add, GlobalSet, 0)},
	}}.Wasm())
	s := h.Session()
	defer s.Close()
	a := open(t, s, "hand")
	runs := []*plugins.Run{open(t, s, "hand")}
	for len(runs) < 2*8-1 { // an instance has room for two, and there are others
		runs = append(runs, open(t, s, "hand"))
	}
	_, err := s.Open(t.Context(), "hand", abi.Options{})
	wantKind(t, err, plugins.KindHandles)
	a.Close()
	a.Close()
	runs = append(runs, open(t, s, "hand"))
	for _, r := range runs {
		if _, err := r.Feed(t.Context(), []byte("x")); err != nil {
			t.Error(err)
		}
	}
	_, err = a.Feed(t.Context(), []byte("x"))
	wantKind(t, err, plugins.KindInternal)
}

// TestChoices has as many regions open at once as an answer may have choices, also in a guest that has no room for
// more than three.
func TestChoices(t *testing.T) {
	t.Parallel()
	for room, choices := range map[int32]int{3: 24, 100: 128} {
		h := newHost(t, plugins.Config{Failures: 1})
		load(t, h, "hand.wasm", Guest{Globals: []int32{0}, Events: []abi.Event{{Kind: abi.End, To: 1}}, Funcs: []Func{
			{Name: abi.ExportOpen, Params: "iii", Results: "i", Body: Code(
				GlobalGet, 0, Const(room), Eq, If, Void, Const(abi.OpenTooMany), Return, End,
				GlobalGet, 0, GlobalGet, 0, Const(1), Add, GlobalSet, 0)},
			{Name: abi.ExportClose, Params: "i", Body: Code(GlobalGet, 0, Const(-1), Add, GlobalSet, 0)},
		}}.Wasm())
		s := h.Session()
		defer s.Close()
		var runs []*plugins.Run
		for range choices {
			runs = append(runs, open(t, s, "hand"))
		}
		for i, r := range runs {
			if _, err := r.Feed(t.Context(), []byte("x")); err != nil {
				t.Errorf("region %d: %v", i, err)
			}
		}
		_, err := s.Open(t.Context(), "hand", abi.Options{})
		wantKind(t, err, plugins.KindHandles)
		runs[choices-1].Close()
		open(t, s, "hand").Close() // where there is room again
		s.Close()
		if m := h.Modules()[0]; m.InUse != 0 {
			t.Errorf("%d instances are in use", m.InUse)
		}
	}
}

func TestHandleUsedTwice(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	load(t, h, "hand.wasm", Guest{}.Wasm()) // opens handle 0 every time
	s := h.Session()
	defer s.Close()
	a := open(t, s, "hand")
	_, err := s.Open(t.Context(), "hand", abi.Options{})
	wantKind(t, err, plugins.KindBadResult)
	_, err = a.Feed(t.Context(), []byte("x")) // its instance is dead
	wantKind(t, err, plugins.KindBadResult)
	open(t, s, "hand") // in a new instance
}

func TestOptions(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	load(t, h, "hand.wasm", Guest{}.Wasm())
	load(t, h, "go.wasm", goGuest(t))
	s := h.Session()
	defer s.Close()
	settings := func(n int) abi.Options {
		return abi.Options{Settings: []abi.Setting{{Key: "k", Value: strings.Repeat("v", n)}}}
	}
	_, err := s.Open(t.Context(), "hand", settings(1<<20))
	wantKind(t, err, plugins.KindRefused)
	// Longer than the buffer: the hand-made guest always returns the same one,
	// which ends with its memory.
	_, err = s.Open(t.Context(), "hand", settings(300<<10))
	wantKind(t, err, plugins.KindBadPointer)

	r, err := s.Open(t.Context(), "go", settings(300<<10))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Feed(t.Context(), []byte("text")); err != nil || content(got) != "text" {
		t.Errorf("got %v, %v, want text", got, err)
	}
}

func TestLongFeed(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	load(t, h, "go.wasm", goGuest(t))
	want := strings.Repeat("0123456789", 30_000)
	if got, err := feed(t, h, "go", want); got != want || err != nil {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(want))
	}
}

func TestRunAfterEnd(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	load(t, h, "hand.wasm", Gives(abi.Event{Kind: abi.End, To: 1}).Wasm())
	s := h.Session()
	defer s.Close()
	r := open(t, s, "hand")
	for i, want := range []int{1, 0} {
		got, err := r.Feed(t.Context(), []byte(strings.Repeat("x", abi.MaxFeed+1)))
		if len(got) != want || err != nil {
			t.Errorf("feed %d: got %v, %v, want %d events", i, got, err, want)
		}
	}
	if got, err := r.Finish(t.Context(), abi.Stop); len(got) != 0 || err != nil {
		t.Errorf("finish: got %v, %v", got, err)
	}
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{Limits: plugins.Limits{Time: time.Hour, Total: time.Hour}, Failures: 1})
	load(t, h, "go.wasm", goGuest(t))
	s := h.Session()
	defer s.Close()
	cause := errors.New("the client went away")
	ctx, cancel := context.WithCancelCause(t.Context())
	r := open(t, s, "go")
	time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
	_, err := r.Feed(ctx, []byte("!loop"))
	wantKind(t, err, plugins.KindCanceled)
	if !errors.Is(err, cause) {
		t.Errorf("got %v, want it to wrap %v", err, cause)
	}
	r.Close()
	_, err = s.CanParse(ctx, "go", nil)
	wantKind(t, err, plugins.KindCanceled)
	works(t, h) // nobody is quarantined
}

func TestBusy(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{MaxInstances: 2})
	load(t, h, "hand.wasm", Guest{}.Wasm())
	a, b, c := h.Session(), h.Session(), h.Session()
	defer c.Close()
	open(t, a, "hand")
	open(t, b, "hand")
	_, err := c.Open(t.Context(), "hand", abi.Options{})
	wantKind(t, err, plugins.KindBusy)
	a.Close()
	a.Close()
	open(t, c, "hand")
	b.Close()
}

func TestUnknownParser(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	s := h.Session()
	defer s.Close()
	_, err := s.Open(t.Context(), "nobody", abi.Options{})
	wantKind(t, err, plugins.KindUnknownParser)
	if want := `parser "nobody": no plugin has it`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestCanParse(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	verdict := func(code ...any) []byte {
		return Guest{Funcs: []Func{{Name: abi.ExportCanParse, Params: "iii", Results: "i", Body: Code(code...)}}}.Wasm()
	}
	tests := []struct {
		name string
		wasm []byte
		want abi.Verdict
		kind plugins.ErrorKind
	}{
		{"no", verdict(Const(0)), abi.No, ""},
		{"yes", verdict(Const(1)), abi.Yes, ""},
		{"maybe", verdict(Const(2)), abi.Maybe, ""},
		{"length of the head", verdict(LocalGet, 2, Const(abi.MaxHead), Eq), abi.Yes, ""},
		{"first byte of the head", verdict(LocalGet, 1, Load8, 0, 0, Const('x'), Eq), abi.Yes, ""},
		{"3", verdict(Const(3)), abi.No, plugins.KindBadResult},
		{"-1", verdict(Const(-1)), abi.No, plugins.KindBadResult},
		{"trap", verdict(Unreachable), abi.No, plugins.KindTrap},
	}
	for _, tt := range tests {
		load(t, h, "hand.wasm", tt.wasm)
		s := h.Session()
		got, err := s.CanParse(t.Context(), "hand", []byte(strings.Repeat("x", 300)))
		if got != tt.want || kindOf(err) != tt.kind {
			t.Errorf("%s: got %v, %v, want %v, %q", tt.name, got, err, tt.want, tt.kind)
		}
		s.Close()
	}
}

// The garbage collector must stop all goroutines for a moment. One that runs a
// guest can only be stopped in a host function. Were it not, the collector would wait until
// the guest is at its limit.
func TestGuestDoesNotHoldUpGC(t *testing.T) {
	h := newHost(t, plugins.Config{Limits: plugins.Limits{Time: 2 * time.Minute, Total: 2 * time.Minute}})
	load(t, h, "go.wasm", goGuest(t))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		s := h.Session()
		defer s.Close()
		_, err := feedIn(ctx, s, "go", "!loop")
		ended <- err
	}()
	time.Sleep(50 * time.Millisecond)
	for range 3 {
		runtime.GC()
	}
	cancel()
	wantKind(t, <-ended, plugins.KindCanceled) // so it did run meanwhile
}

func TestPrintedTextIsLogged(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h := newHost(t, plugins.Config{Log: log})
	load(t, h, "go.wasm", goGuest(t))
	if _, err := feed(t, h, "go", "!say hello"); err != nil {
		t.Error(err)
	}
	if got, want := text.String(), `msg="plugin printed" plugin=go.wasm text=hello more=0`; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	text.Reset()
	_, _ = feed(t, h, "go", "!print")
	if n := len(text.String()); n < 4096 || n > 6000 {
		t.Errorf("a guest that prints all the time: logged %d bytes", n)
	}
	text.Reset()
	works(t, h)
	if text.Len() > 0 {
		t.Errorf("a guest that prints nothing: logged %s", &text)
	}
}

// TestDenseCode has a guest whose counts take thirty microseconds and more each, such as a loop of square
// roots that follow from each other. As many counts as are cheap between two looks at the clock take it a second,
// and of that only so much counts as another process may have had. How much the guest has worked when it is
// stopped does not depend on how busy the machine is.
func TestDenseCode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the time that a thread works is known on Linux alone")
	}
	h := newHost(t, plugins.Config{})
	load(t, h, "hand.wasm", Guest{Funcs: []Func{Feed(Endless(
		Const(0), 0x44, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}, bytes.Repeat([]byte{0x9f}, 1000), 0x39, 3, 0))}}.Wasm())
	for i, most := range []int64{200_000, 80_000} { // the second time it is known
		s := h.Session()
		_, err := feedIn(t.Context(), s, "hand", "x")
		wantKind(t, err, plugins.KindTimeLimit)
		if got := s.Work(); got > most {
			t.Errorf("response %d: it is stopped after %d counts, want at most %d", i, got, most)
		}
		s.Close()
	}
}
