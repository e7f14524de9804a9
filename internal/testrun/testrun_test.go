package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"
)

// TestRun runs the tests of modules made for it, and compares what is told, but for the
// times.
func TestRun(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %q and %v, want some modules", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			dir, want := unpack(t, file)
			var out bytes.Buffer
			ok := run(t.Context(), &out, []string{dir}, nil, []string{"-count=1", "-p=1"})
			got := strings.ReplaceAll(stable(out.String()), dir, "DIR")
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if ok == strings.Contains(want, "FAIL") {
				t.Errorf("got that all is well: %v", ok)
			}
			_, end, _ := strings.Cut("\n"+got, "\n\n")
			end = end[strings.LastIndex(end, "\n\n")+1:]
			if n := strings.Count(strings.TrimSpace(end), "\n") + 1; n > 10 {
				t.Errorf("got an end of %d lines, want 10 at most:\n%s", n, end)
			}
		})
	}
}

// TestFirst starts packages before others that come before them in the alphabet.
func TestFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module github.com/callgate/callgate/order\n\ngo 1.26.0\n",
		"a/a_test.go":  "package a\n\nimport \"testing\"\n\nfunc TestA(*testing.T) {}\n",
		"b/b_test.go":  "package b\n\nimport \"testing\"\n\nfunc TestB(*testing.T) {}\n",
		"c/c_test.go":  "package c\n\nimport \"testing\"\n\nfunc TestC(*testing.T) {}\n",
		"d/without.go": "package d\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	ok := run(t.Context(), &out, []string{dir}, []string{"order/c", "elsewhere", "order/b"}, []string{"-count=1", "-p=1"})
	want := "[1/3] ok     TIME order/c\n[2/3] ok     TIME order/b\n[3/3] ok     TIME order/a\n"
	if got := regexp.MustCompile(`(ok) +\d+\.\ds`).ReplaceAllString(waits.ReplaceAllString(out.String(), ""), "$1     TIME"); !ok || !strings.HasPrefix(got, want) {
		t.Errorf("got %v and\n%s\nwant it to begin with\n%s", ok, got, want)
	}
}

// unpack writes a module into a directory, and returns what is to be told of its tests.
func unpack(t *testing.T, file string) (dir, want string) {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, f := range a.Files {
		if f.Name == "want" {
			want = string(f.Data)
			continue
		}
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, want
}

var (
	times = regexp.MustCompile(`\d+\.\d+s|in (\d+h)?(\d+m)?\d+s`)
	waits = regexp.MustCompile(`(?m)^    \.\.\. .*\n`)         // what is under way, on a busy machine
	stack = regexp.MustCompile(`(?ms)^(panic: \w+).*?(^\[\d)`) // which Go's versions write differently
)

// stable is what a run tells, without what differs from one to the next.
func stable(out string) string {
	return times.ReplaceAllString(stack.ReplaceAllString(waits.ReplaceAllString(out, ""), "$1\n$2"), "TIME")
}

// TestWaits says what is under way, when nothing ends.
func TestWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // by a clock of its own
		var out bytes.Buffer
		r := newReport(&out)
		r.expect([]string{root + "gateway"})
		r.add(event{Action: "start", Package: root + "gateway"})
		r.add(event{Action: "pass", Package: root + "gateway", Test: "TestA"})
		r.waits(time.Hour)
		if out.Len() > 0 {
			t.Errorf("got %q, want nothing yet", &out)
		}
		r.waits(0)
		if got := out.String(); got != "    ... gateway for 0s, 1 tests\n" {
			t.Errorf("got %q, want the package that runs", got)
		}
	})
}

// TestBounds holds that the end has ten lines at most, whatever went wrong.
func TestBounds(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := newReport(&out)
	for i := range 50 {
		p, test := fmt.Sprint("p", i), fmt.Sprint("Test", i)
		r.expect([]string{p})
		r.add(event{Action: "output", Package: p, Test: test, Output: fmt.Sprintf("    a_test.go:1: because %d\n", i)})
		r.add(event{Action: "skip", Package: p, Test: test})
		r.add(event{Action: "output", Package: p, Test: "TestX", Output: strings.Repeat("x", 10*mostOutput)})
		r.add(event{Action: "fail", Package: p, Test: "TestX"})
		r.add(event{Action: "fail", Package: p})
	}
	if out.Len() > 51*mostOutput {
		t.Errorf("got %d bytes, want the end of what each test printed", out.Len())
	}
	out.Reset()
	if r.summary(time.Minute) {
		t.Error("got that all is well, want that it is not")
	}
	got := strings.TrimPrefix(out.String(), "\n")
	if n := strings.Count(got, "\n"); n > 10 || !strings.Contains(got, "50 failed, 50 skipped") || !strings.Contains(got, "and 47 more") || !strings.Contains(got, "44 more reasons") {
		t.Errorf("got %d lines, want 10 at most with the sums:\n%s", n, got)
	}
}
