package cli

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/glossary"
)

// TestGlossaryPage holds that docs/glossary.md is what the program says of its names.
func TestGlossaryPage(t *testing.T) {
	t.Parallel()
	printedPage(t, "glossary.md", "explain", "--reference")
}

// TestExplain asks what names mean, as somebody copies them.
func TestExplain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		args   []string
		status int
		want   []string
	}{
		{[]string{"cooling:openai"}, exitOK, []string{"warning cooling:openai: A target was put behind others"}},
		{[]string{"X-Callgate-Repairs: args_json=1,name=2"}, exitOK, []string{"repair args_json: Arguments that were not quite JSON", "repair name: A tool's name, misspelled"}},
		{[]string{": callgate mode=repair calls=1/1 parser=hermes repairs=args_json=1,name=2 warnings=broken_call"}, exitOK, []string{"repair args_json: Arguments that were not quite JSON\nrepair name: A tool's name, misspelled\nwarning broken_call:"}},
		{[]string{"circuit_open"}, exitOK, []string{"warning circuit_open: A target was left out", "code circuit_open: All upstreams"}},
		{[]string{"plugin:hermes:time_limit"}, exitOK, []string{"A parser failed (hermes:time_limit), and others read on."}},
		{[]string{"coolling"}, exitFailed, []string{`Did you mean "cooling"?`}},
		{[]string{"zzz"}, exitFailed, []string{"a plugin may have given it"}},
		{nil, exitUsage, []string{"explain: give a name"}},
	} {
		status, stdout, stderr := command(t, "", append([]string{"explain"}, row.args...)...)
		for _, want := range row.want {
			if status != row.status || !strings.Contains(stdout+stderr, want) {
				t.Errorf("%q: got exit status %d and %s%s, want %d and %q", row.args, status, stdout, stderr, row.status, want)
			}
		}
	}
}

// TestCodesExplained holds that each code of the reference's table of errors has words.
func TestCodesExplained(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Errors\n")
	table, _, _ = strings.Cut(table, "\n## ")
	n := 0
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(table, -1) {
		for _, code := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			if n++; code[1] != "code" && glossary.Code(code[1]) == "" {
				t.Errorf("the code %s of docs/reference.md has no words in gateway/glossary", code[1])
			}
		}
	}
	if n < 50 {
		t.Errorf("got %d codes in the table, want some 60", n)
	}
}

// endComment is what ends a stream in which something was done.
var endComment = regexp.MustCompile(`(?m)^: callgate .*$`)

// checkNames holds that what an answer says was found, repaired and left out has words. Each answer of a gateway
// that tests ask passes here.
func checkNames(t testing.TB, h http.Header, body string) {
	t.Helper()
	for name, words := range map[string]func(string) string{"faults": glossary.Fault, "repairs": glossary.Repair, "warnings": glossary.Warning} {
		lists := h.Values("x-callgate-" + name)
		for _, line := range endComment.FindAllString(body, -1) {
			if _, list, found := strings.Cut(line, " "+name+"="); found {
				list, _, _ = strings.Cut(list, " ")
				lists = append(lists, list)
			}
		}
		for _, list := range lists {
			for said := range strings.SplitSeq(list, ",") {
				said, _, _ = strings.Cut(said, "=")
				if !strings.HasSuffix(said, "...") && words(said) == "" { // which cuts a long header
					t.Errorf("%q of the %s has no words in gateway/glossary", said, name)
				}
			}
		}
	}
}
