package plugins

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/plugins/meter"
	"github.com/callgate/callgate/sdk/abi"
)

// required are the exports of a guest.
var required = []struct {
	name, kind string
}{
	{abi.ExportMemory, "memory"},
	{abi.ExportManifest, "func() i64"},
	{abi.ExportAlloc, "func(i32) i32"},
	{abi.ExportCanParse, "func(i32, i32, i32) i32"},
	{abi.ExportOpen, "func(i32, i32, i32) i32"},
	{abi.ExportFeed, "func(i32, i32, i32) i64"},
	{abi.ExportFinish, "func(i32, i32) i64"},
	{abi.ExportClose, "func(i32)"},
}

// checkModule says what makes the module unfit as a plugin, "" if nothing does.
func checkModule(s *meter.Summary) string {
	if reason := checkVersion(s); reason != "" {
		return reason
	}
	if reason := checkExports(s); reason != "" {
		return reason
	}
	return checkImports(s)
}

// checkVersion finds a module that was built for another version of the ABI, and
// one that was not built for this gateway at all.
func checkVersion(s *meter.Summary) string {
	switch v := version(s); v {
	case abi.Version:
		return ""
	case 0:
		return fmt.Sprintf("it is not a parser plugin: it has no exports %s…", abi.Prefix)
	default:
		return fmt.Sprintf("it speaks ABI %d, this gateway speaks %d: rebuild it with the SDK of this version", v, abi.Version)
	}
}

// version is that of the ABI in the names of a module's exports: this gateway's if some
// have it, else the first one, else 0.
func version(s *meter.Summary) int {
	first := 0
	for _, name := range s.Order {
		rest, ok := strings.CutPrefix(name, "callgate")
		digits, _, found := strings.Cut(rest, "_")
		v, err := strconv.Atoi(digits)
		switch {
		case !ok || !found || err != nil || v < 1:
		case v == abi.Version:
			return v
		case first == 0:
			first = v
		}
	}
	return first
}

func checkExports(s *meter.Summary) string {
	var missing []string
	for _, want := range required {
		got, ok := s.Exports[want.name]
		if !ok {
			missing = append(missing, want.name)
			continue
		}
		if got != want.kind {
			return fmt.Sprintf("export %s is %s, want %s", want.name, got, want.kind)
		}
	}
	if len(missing) > 0 {
		return "missing exports: " + strings.Join(missing, ", ")
	}
	if got, ok := s.Exports[abi.ExportInitialize]; ok && got != "func()" {
		return fmt.Sprintf("export %s is %s, want func()", abi.ExportInitialize, got)
	}
	_, command := s.Exports["_start"]
	_, reactor := s.Exports[abi.ExportInitialize]
	if command && !reactor {
		return "it is a command with a _start, want a reactor: build it with -buildmode=c-shared or the like"
	}
	return ""
}

func checkImports(s *meter.Summary) string {
	var refused []string
	for _, imp := range s.Imports {
		want, ok := wasiFuncs[imp.Name]
		name := shown(imp.Module) + "." + shown(imp.Name)
		switch {
		case imp.Module != wasiModule || !ok || !strings.HasPrefix(imp.Type, "func"):
			refused = append(refused, name)
		case imp.Type != "func"+want.signature():
			return fmt.Sprintf("import %s is %s, want func%s", name, imp.Type, want.signature())
		}
	}
	if len(refused) > 0 {
		slices.Sort(refused)
		return "it imports what a plugin does not get: " + listed(slices.Compact(refused))
	}
	return ""
}

// listed are the first of some names in one line: a module may have millions.
func listed(names []string) string {
	const most = 10
	s := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// shown is a name or a word of a module as it may be printed: in one line, and not without
// end.
func shown(s string) string {
	quoted := fmt.Sprintf("%.200q", s)
	if quoted == `"`+s+`"` {
		return s
	}
	return quoted
}
