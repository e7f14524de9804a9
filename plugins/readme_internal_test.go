package plugins

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk/abi"
)

// readme is what authors in other languages are told of the ABI.
func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../sdk/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), fmt.Sprintf("## The ABI, version %d\n", abi.Version))
	if !found {
		t.Fatalf("sdk/README.md has no section on version %d of the ABI", abi.Version)
	}
	return section
}

// rows are the cells of the table whose heading begins with a word.
func rows(t *testing.T, text, heading string) [][]string {
	t.Helper()
	_, table, found := strings.Cut(text, "| "+heading+" |")
	if !found {
		t.Fatalf("sdk/README.md has no table of %ss", heading)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var rows [][]string
	for _, line := range strings.Split(table, "\n")[2:] { // behind the heading and its rule
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `")
		}
		rows = append(rows, cells)
	}
	return rows
}

// TestReadmeExports compares the table of exports with what a module must have.
func TestReadmeExports(t *testing.T) {
	t.Parallel()
	table := rows(t, readme(t), "export")
	if len(table) != len(required) {
		t.Errorf("got %d exports, want %d", len(table), len(required))
	}
	for i, row := range table[:min(len(table), len(required))] {
		want := required[i]
		if got := signature(row[1]); row[0] != want.name || got != strings.TrimPrefix(strings.TrimPrefix(want.kind, "func"), "memory") {
			t.Errorf("export %d: got %s %q, want %s %q", i, row[0], got, want.name, want.kind)
		}
	}
}

// signature is that of an export as the document writes it, "(parser, ptr, n i32) → i32", as
// the host does.
func signature(written string) string {
	params, result, _ := strings.Cut(written, "→")
	params = strings.TrimSpace(params)
	if names := strings.Count(params, ",") + 1; strings.HasSuffix(params, " i32)") {
		params = "(" + strings.TrimSuffix(strings.Repeat("i32, ", names), ", ") + ")"
	}
	return strings.TrimSpace(params + " " + strings.TrimSpace(result))
}

// TestReadmeEvents compares the table of events with how the host decodes them.
func TestReadmeEvents(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, row := range rows(t, readme(t), "kind") {
		for kind := range strings.SplitSeq(row[0], ", ") {
			got[kind] = row[1]
		}
	}
	want := map[string]string{}
	for kind := abi.Kind(1); int(kind) < len(fields); kind++ {
		want[fmt.Sprintf("%d %s", kind, strings.ReplaceAll(kind.String(), "_", " "))] = fieldsOf(t, kind)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got events %v, want %v", got, want)
	}
}

// fieldsOf are the names of the fields that an event of a kind has.
func fieldsOf(t *testing.T, kind abi.Kind) string {
	t.Helper()
	b := abi.AppendEvent(nil, abi.Event{Kind: kind, Index: 1, Name: "name", ID: "id", Text: "text", From: 2, To: 3})
	events, err := abi.DecodeEvents(nil, b)
	if err != nil || len(events) != 1 {
		t.Fatalf("%v: got %d events and error %v, want 1", kind, len(events), err)
	}
	var names []string
	for field, value := range reflect.ValueOf(events[0]).Fields() {
		if field.Name != "Kind" && !value.IsZero() {
			names = append(names, strings.ToLower(field.Name))
		}
	}
	return strings.Join(names, ", ")
}

// TestReadmeNumbers looks for the numbers of the ABI, each in the words that say it.
func TestReadmeNumbers(t *testing.T) {
	t.Parallel()
	text := strings.Join(strings.Fields(readme(t)), " ")
	limits := Limits{}.withDefaults()
	for _, want := range []string{
		fmt.Sprintf("%d no, %d yes, %d more text", abi.No, abi.Yes, abi.Maybe),
		fmt.Sprintf("−%d unknown parser, −%d options refused, −%d no room", -abi.OpenUnknownParser, -abi.OpenBadOptions, -abi.OpenTooMany),
		fmt.Sprintf("%d by itself, %d cut by a token limit", abi.Stop, abi.Length),
		fmt.Sprintf("at most %d bytes from the trigger on", abi.MaxHead),
		fmt.Sprintf("the next n bytes (at most %d KiB)", abi.MaxFeed>>10),
		fmt.Sprintf("one of %d KiB when it loads the module", abi.MaxFeed>>10),
		fmt.Sprintf("bits: %d string, %d integer, %d number, %d boolean, %d object, %d array, %d null",
			abi.String, abi.Integer, abi.Number, abi.Boolean, abi.Object, abi.Array, abi.Null),
		fmt.Sprintf("%d ms of time a call and %d s a response, %d MiB of text and %d MiB of events a response, %d MiB of memory, %d handles",
			limits.Time.Milliseconds(), int(limits.Total.Seconds()), limits.Input>>20, limits.Output>>20, limits.Memory>>20, limits.Handles),
		fmt.Sprintf("%d events a call of an export", maxEvents),
		"`" + abi.ExportInitialize + "` export", "`" + wasiModule + "`", "custom section `" + abi.ManifestSection + "`",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("sdk/README.md does not say %q", want)
		}
	}
}

// TestReadmeOptions encodes each option alone, which shows its key.
func TestReadmeOptions(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(strings.Join(strings.Fields(readme(t)), " "), "**Options**")
	for _, o := range []struct {
		options abi.Options
		what    string
	}{
		{abi.Options{Tools: []abi.Tool{{Name: "f"}}}, "tools: count, then for each name, count of parameters"},
		{abi.Options{Settings: []abi.Setting{{Key: "k", Value: "v"}}}, "settings: count, then key and value of each"},
		{abi.Options{Fenced: true}, "inside a code fence: one byte"},
		{abi.Options{MaxDepth: 1}, "how deep JSON may nest: a number"},
		{abi.Options{Guess: true}, "nobody named the parser, it was chosen by the text: one byte"},
	} {
		key := abi.AppendOptions(nil, o.options)[0]
		if want := fmt.Sprintf(" %d %s", key, o.what); !strings.Contains(text, want) {
			t.Errorf("sdk/README.md does not say %q of the options", want)
		}
	}
}

// TestReadmeManifest reads the manifest that is shown, and looks for every key.
func TestReadmeManifest(t *testing.T) {
	t.Parallel()
	text := readme(t)
	shown := regexp.MustCompile("(?s)\\*\\*Manifest\\*\\*: `(.*?)`").FindStringSubmatch(text)
	if shown == nil {
		t.Fatal("sdk/README.md shows no manifest")
	}
	if _, err := parseManifest([]byte(shown[1])); err != nil {
		t.Errorf("the manifest that is shown: %v", err)
	}
	parser := reflect.TypeFor[abi.Parser]()
	for i := range parser.NumField() {
		key, _, _ := strings.Cut(parser.Field(i).Tag.Get("json"), ",")
		if !strings.Contains(shown[1], `"`+key+`"`) && !strings.Contains(text, "`"+key+"`") {
			t.Errorf("sdk/README.md does not say what %s is", key)
		}
	}
}
