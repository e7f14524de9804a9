package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway/prefix/simulate"
)

// TestExportTrace has conversations with a gateway that notes prompts, makes a trace of its
// log, and replays it: testdata/exporttrace.txtar has what comes of it, with a second
// between the requests. Some are of a route that does not look at prompts itself.
func TestExportTrace(t *testing.T) {
	t.Parallel()
	s := &setup{}
	s.head.WriteString("cache_salt: pepper\n")
	for _, name := range []string{"a", "b"} {
		s.provider(name, newSite(t, (&warmSite{}).serve).url, "")
	}
	s.model("m", "a", "b")
	config := strings.Replace(s.String(), "log: {level: error}", "log: {prefix: true}", 1) + "  near: {routing: prefix, targets: [{provider: a, model: up}, {provider: b, model: up}]}\n"
	g := serve(t, config)
	f := &fleet{gate: g}
	var talks []*talk
	for i := range 6 {
		talks = append(talks, newTalk("", i))
		talks[i].model = []string{"m", "near"}[i%2]
	}
	for turn := range 3 {
		for i, c := range talks {
			f.turn(c, fmt.Sprintf("conversation %d turn %d", i, turn))
		}
	}
	g.chat(prompt("none", "Hi", false)) // not found, and no request of the trace
	await(t, "the lines of all requests", func() bool { return strings.Count(g.stderr.String(), `"prefix_blocks"`) >= 18 })
	log := g.stderr.String()
	if strings.Contains(log, "careful") || strings.Contains(log, "conversation 1") {
		t.Errorf("got words of a prompt in the log:\n%s", log)
	}
	file := traceFile(t, "gateway.log", "Starting.\n"+log)
	status, exported, said := command(t, "", "export-trace", "--since", "1h", file)
	if status != exitOK || !strings.HasPrefix(said, "requests: 18; left out: ") {
		t.Fatalf("got status %d and %q, want 18 requests", status, said)
	}
	trace, err := simulate.ReadTrace(strings.NewReader(exported))
	if err != nil {
		t.Fatal(err)
	}
	for i := range trace {
		trace[i].Timestamp = int64(1000 * i)
	}
	var even bytes.Buffer
	if err := simulate.WriteTrace(&even, trace); err != nil {
		t.Fatal(err)
	}
	_, flags, _ := strings.Cut(strings.TrimSpace(said), "replay it with: callgate ")
	flags = strings.Replace(flags, "FILE", traceFile(t, "trace.jsonl", even.String()), 1) + " --targets 2"
	status, replayed, stderr := command(t, "", strings.Fields(flags)...)
	if status != exitOK {
		t.Fatalf("got status %d and %q of %s, want %d", status, stderr, flags, exitOK)
	}
	golden(t, filepath.Join("testdata", "exporttrace.txtar"), txtar.File{Name: "trace", Data: even.Bytes()}, txtar.File{Name: "simulate", Data: []byte(replayed)})

	status, one, said := command(t, log, "export-trace", "--route", "near")
	if got := strings.Count(one, "\n"); status != exitOK || got != 9 || !strings.Contains(said, ", 9 by --since or --route, ") {
		t.Errorf("got status %d, %d requests and %q of one route, want 9", status, got, said)
	}
}

// golden compares files with those of an archive.
func golden(t *testing.T, archive string, files ...txtar.File) {
	t.Helper()
	got := txtar.Format(&txtar.Archive{Files: files})
	if *update {
		if err := os.WriteFile(archive, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant what %s has:\n%s", got, archive, want)
	}
}

// TestExportTraceMistakes holds that what is wrong is named, and what is malformed costs no
// other line.
func TestExportTraceMistakes(t *testing.T) {
	t.Parallel()
	const good = `{"time":"2026-11-21T13:00:05Z","msg":"request","status":200,"took_ms":0.001,"bytes":300,"prompt_route":"m","prompt_bytes":600,"input_tokens":150,"output_tokens":9,"prefix_blocks":"AAAAAQ"}` + "\n"
	none := "no request has its blocks in the log; the gateway writes them with log.prefix: true\n"
	for _, tt := range []struct {
		name, log string
		flags     []string
		status    int
		requests  int
		said      string // FILE is the log
	}{
		{"good", good, nil, exitOK, 1, "requests: 1; left out: 0 lines about something else, 0 requests without a whole answer, 0 by --since or --route, 0 malformed lines\nreplay it with: callgate simulate --trace FILE --block-tokens 128\n"},
		{"empty", "", nil, exitFailed, 0, "requests: 0; left out: 0 lines about something else, 0 requests without a whole answer, 0 by --since or --route, 0 malformed lines\n" + none},
		{"no blocks", `{"msg":"request"}`, nil, exitFailed, 0, "requests: 0; left out: 1 lines about something else, 0 requests without a whole answer, 0 by --since or --route, 0 malformed lines\n" + none},
		{"malformed", good + strings.Replace(good, "9,", `"9",`, 1), nil, exitFailed, 1, "LOG: line 2: output_tokens: is a JSON string, want a whole number\n" +
			"requests: 1; left out: 0 lines about something else, 0 requests without a whole answer, 0 by --since or --route, 1 malformed lines\nreplay it with: callgate simulate --trace FILE --block-tokens 128\n"},
		{"estimated", strings.Replace(good, `"input_tokens":150,"output_tokens":9,`, "", 1), nil, exitOK, 1,
			"requests: 1; left out: 0 lines about something else, 0 requests without a whole answer, 0 by --since or --route, 0 malformed lines\n" +
				"the upstream did not count the tokens of 1 requests: theirs are estimated, at 4.0 bytes for one\nreplay it with: callgate simulate --trace FILE --block-tokens 128\n"},
		{"gzip", "\x1f\x8b", nil, exitUsage, 0, "callgate: LOG: unexpected EOF\n"},
		{"since", good, []string{"--since", "noon"}, exitUsage, 0, "callgate: export-trace: --since: \"noon\" is neither a time such as 2026-11-21T13:00:00Z nor a duration such as 24h\n"},
		{"since a time", good, []string{"--since", "2026-11-21T13:00:06Z"}, exitFailed, 0,
			"requests: 0; left out: 0 lines about something else, 0 requests without a whole answer, 1 by --since or --route, 0 malformed lines\n" + none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := traceFile(t, "gateway.log", tt.log)
			status, stdout, stderr := command(t, "", append([]string{"export-trace", file}, tt.flags...)...)
			if want := strings.Replace(tt.said, "LOG", file, 1); status != tt.status || strings.Count(stdout, "\n") != tt.requests || stderr != want {
				t.Errorf("got status %d, %q and %q, want %d, %d requests and %q", status, stdout, stderr, tt.status, tt.requests, want)
			}
		})
	}
	missing := filepath.Join(t.TempDir(), "none")
	if status, _, stderr := command(t, "", "export-trace", missing); status != exitUsage || stderr != "callgate: "+missing+": no such file or directory\n" {
		t.Errorf("got status %d and %q, want %d and the file that is not there", status, stderr, exitUsage)
	}
}
