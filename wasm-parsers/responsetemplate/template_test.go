package responsetemplate

import (
	"flag"
	"os"
	"strings"
	"testing"
)

// TestRefused reads testdata/refused.txt: a template in a line, its error in the
// next. With -update the errors are written anew.
func TestRefused(t *testing.T) {
	t.Parallel()
	const file = "testdata/refused.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		source, want, _ := strings.Cut(block, "\n")
		_, err := compile(source)
		if err == nil {
			t.Errorf("%s is not refused", source)
			continue
		}
		if got := err.Error(); got != want && !updating() {
			t.Errorf("%s\ngives: %s\nwant:  %s", source, got, want)
		}
		b.WriteString(source + "\n" + err.Error() + "\n\n")
	}
	if updating() {
		if err := os.WriteFile(file, []byte(strings.TrimSuffix(b.String(), "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// TestAccepted are forms that real templates may have.
func TestAccepted(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/accepted.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if _, err := compile(strings.TrimSpace(line)); err != nil {
			t.Errorf("%s is refused: %v", line, err)
		}
	}
}

// TestLimits are the templates that are too large.
func TestLimits(t *testing.T) {
	t.Parallel()
	pattern := func(source string) string { return `{"fields": {"thinking": {"open_pattern": ` + quote(source) + `}}}` }
	many := func(n int, field string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"f` + strings.Repeat("x", i) + `": ` + field)
		}
		return `{"fields": {` + b.String() + `}}`
	}
	for _, tt := range []struct{ source, want string }{
		{`{"fields": {}, "x": "` + strings.Repeat("x", maxTemplate) + `"}`, "shorten it to 65536 bytes"},
		{`{"fields": ` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, "nests at most 32 deep"},
		{many(33, `{"open": "<"}`), "at most 32 fields"},
		{pattern(strings.Repeat("x", maxPattern+1)), "shorten it to 1024 bytes"},
		{pattern("(?:a{1000}){3}"), "invalid repeat count"},
		{pattern("(?:abc){1000}"), "too large when compiled"},
		{pattern(strings.Repeat("a{900}", 100)), "too large when compiled"},
		{pattern(strings.Repeat(`\pL`, 200)), "too large when compiled"},
		{many(20, `{"open_pattern": "a{900}"}`), "too large when compiled"},
		{pattern("(?P<a>x)(?P<b>x)(?P<c>x)(?P<d>x)(?P<e>x)(?P<f>x)(?P<g>x)(?P<h>x)(?P<i>x)"), "at most 8 named groups"},
	} {
		if _, err := compile(tt.source); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.80s…: error %v, want one with %q", tt.source, err, tt.want)
		}
	}
}
