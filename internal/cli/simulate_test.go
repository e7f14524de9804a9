package cli

import (
	"bufio"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// excerpt writes the first requests of a public trace to a file, and returns its name.
func excerpt(t *testing.T, name string, requests int) string {
	t.Helper()
	f, err := os.Open("../../gateway/prefix/testdata/mooncake_" + name + ".jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	lines := bufio.NewScanner(unzipped)
	for range requests {
		if !lines.Scan() {
			t.Fatalf("got the end of %s (%v), want %d requests", name, lines.Err(), requests)
		}
		text.WriteString(lines.Text() + "\n")
	}
	return traceFile(t, name+".jsonl", text.String())
}

func traceFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSimulateGolden runs the commands of testdata/simulate, in which TRACE is the first
// 1,500 requests of a public trace. A case is its flags, and what is printed.
func TestSimulateGolden(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"conversation", "synthetic"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("testdata", "simulate", name+".txtar")
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			trace := excerpt(t, name, 1500)
			for i, f := range archive.Files {
				flags := strings.Fields(f.Name)
				status, stdout, stderr := command(t, "", slices.Concat([]string{"simulate", "--trace", trace}, flags)...)
				if status == exitUsage || stderr != "" {
					t.Fatalf("%s: got status %d and %q, want a table", f.Name, status, stderr)
				}
				if status == exitFailed {
					stdout += "exit status 1\n"
				}
				if want := string(f.Data); *update {
					archive.Files[i].Data = []byte(stdout)
				} else if stdout != want {
					t.Errorf("%s: got\n%swant\n%s", f.Name, stdout, want)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestSimulateZipped holds that a trace as it is published, as gzip, gives what its lines
// give.
func TestSimulateZipped(t *testing.T) {
	t.Parallel()
	plain := excerpt(t, "synthetic", 200)
	text, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	var zipped strings.Builder
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write(text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, want, _ := command(t, "", "simulate", "--trace", plain)
	status, got, stderr := command(t, "", "simulate", "--trace", traceFile(t, "trace.gz", zipped.String()))
	if status != exitOK || got != want || !strings.HasPrefix(got, "200 requests, ") {
		t.Errorf("got status %d, %s%s, want what the plain lines give:\n%s", status, stderr, got, want)
	}
}

// TestSimulateMistakes holds that what is wrong is named, in one line, with status 2.
func TestSimulateMistakes(t *testing.T) {
	t.Parallel()
	const good = `{"timestamp": 0, "input_length": 600, "output_length": 7, "hash_ids": [3, 4]}` + "\n"
	for _, tt := range []struct {
		name, trace string
		flags       []string
		want        string
	}{
		{"no JSON", good + "{\n", nil, "FILE: line 2: unexpected end of JSON input"},
		{"field", good + "\n" + strings.Replace(good, "[3, 4]", `"3"`, 1), nil, "FILE: line 3: hash_ids: is a JSON string, want an array"},
		{"missing", `{"timestamp": 0}`, nil, "FILE: line 1: input_length: is missing"},
		{"back in time", strings.Replace(good, `p": 0`, `p": 5`, 1) + good, nil, "FILE: line 2: timestamp: goes back from 5 to 0"},
		{"empty", "\n", nil, "FILE: it holds no requests"},
		{"gzip", "\x1f\x8b", nil, "FILE: unexpected EOF"},
		{"no targets", good, []string{"--targets", "0"}, "simulate: --targets, --gateways, --entries and --block-tokens must be above 0"},
		{"many targets", good, []string{"--targets", "5000"}, "simulate: targets: 5000 is not between 1 and 1024"},
		{"shared", good, []string{"--shared-tokens", "1000"}, "simulate: shared: 1000 tokens are not a whole number of blocks of 512"},
		{"negative aim", good, []string{"--min-hits=-1"}, "simulate: --min-hits, --max-imbalance and --max-loss must be numbers, and not negative"},
		{"aim that is no number", good, []string{"--max-imbalance", "NaN"}, "simulate: --min-hits, --max-imbalance and --max-loss must be numbers, and not negative"},
		{"aim of another", good, []string{"--min-hits", "3", "--policy", "plain"}, "simulate: --min-hits, --max-imbalance and --max-loss are about ours, not about plain"},
		{"down without an end", good, []string{"--down", "0.4"}, `simulate: --down: "0.4" is not FROM:TO with 0 <= FROM <= TO <= 1, such as 0.4:0.5`},
		{"up before down", good, []string{"--down", "0.5:0.4"}, `simulate: --down: "0.5:0.4" is not FROM:TO with 0 <= FROM <= TO <= 1, such as 0.4:0.5`},
		{"down by no number", good, []string{"--down", "NaN:1"}, `simulate: --down: "NaN:1" is not FROM:TO with 0 <= FROM <= TO <= 1, such as 0.4:0.5`},
		{"the only one down", good, []string{"--down", "0.4:0.5", "--targets", "1"}, "simulate: failure: the only target cannot die"},
		{"loss of one", good, []string{"--max-loss", "3"}, "simulate: --max-loss compares several gateways with one: set --gateways"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := traceFile(t, "trace.jsonl", tt.trace)
			status, stdout, stderr := command(t, "", append([]string{"simulate", "--trace", file}, tt.flags...)...)
			want := "callgate: " + strings.Replace(tt.want, "FILE", file, 1) + "\n"
			if status != exitUsage || stdout != "" || stderr != want {
				t.Errorf("got status %d, %q and %q, want %d and %q", status, stdout, stderr, exitUsage, want)
			}
		})
	}
	missing := filepath.Join(t.TempDir(), "none")
	if status, _, stderr := command(t, "", "simulate", "--trace", missing); status != exitUsage || stderr != "callgate: "+missing+": no such file or directory\n" {
		t.Errorf("got status %d and %q, want %d and the file that is not there", status, stderr, exitUsage)
	}
	if status, _, stderr := command(t, "", "simulate"); status != exitUsage || !strings.Contains(stderr, "--trace=FILE") {
		t.Errorf("got status %d and %q, want %d and the flag that is missing", status, stderr, exitUsage)
	}
}

// TestSimulateInterrupted: a user need not wait for the end.
func TestSimulateInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr buffer
	status := run(ctx, []string{"simulate", "--trace", excerpt(t, "conversation", 1000)}, readerOf(""), &stdout, &stderr)
	if status != exitFailed || stdout.String() != "" || !strings.Contains(stderr.String(), context.Canceled.Error()) {
		t.Errorf("got status %d, %q and %q, want %d and an error", status, &stdout, &stderr, exitFailed)
	}
}

// TestReadmeSimulate checks the table of docs/caches.md against the program.
func TestReadmeSimulate(t *testing.T) {
	if !*update { // then it writes the page
		t.Parallel()
	}
	if testing.Short() {
		t.Skip("it replays a whole trace")
	}
	const page = "../../docs/caches.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), "\n$ bin/callgate simulate ")
	flags, rest, _ := strings.Cut(rest, "\n")
	table, after, found := strings.Cut(rest, "```\n")
	if !ok || !found {
		t.Fatal("docs/caches.md has no place for the table")
	}
	status, want, stderr := command(t, "", append([]string{"simulate"}, strings.Fields(strings.Replace(flags, " gateway/", " ../../gateway/", 1))...)...)
	if status != exitOK {
		t.Fatalf("got exit status %d: %s", status, stderr)
	}
	if table == want {
		return
	}
	if !*update {
		t.Fatalf("got in docs/caches.md\n%swant what its command prints; make golden writes it anew:\n%s", table, want)
	}
	if err := os.WriteFile(page, []byte(before+"\n$ bin/callgate simulate "+flags+"\n"+want+"```\n"+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
