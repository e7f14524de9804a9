package plugins

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
)

// required are the exports of a guest.
var required = []struct {
	name string
	kind byte
	sig  string
}{
	{abi.ExportMemory, kindMemory, ""},
	{abi.ExportManifest, kindFunc, "() i64"},
	{abi.ExportAlloc, kindFunc, "(i32) i32"},
	{abi.ExportCanParse, kindFunc, "(i32, i32, i32) i32"},
	{abi.ExportOpen, kindFunc, "(i32, i32, i32) i32"},
	{abi.ExportFeed, kindFunc, "(i32, i32, i32) i64"},
	{abi.ExportFinish, kindFunc, "(i32, i32) i64"},
	{abi.ExportClose, kindFunc, "(i32)"},
}

// checkModule says what makes the module unfit as a plugin, "" if nothing does.
func checkModule(s *summary) string {
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
func checkVersion(s *summary) string {
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
func version(s *summary) int {
	first := 0
	for _, name := range s.order {
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

func checkExports(s *summary) string {
	var missing []string
	for _, want := range required {
		got, ok := s.exports[want.name]
		if !ok {
			missing = append(missing, want.name)
			continue
		}
		if got.kind != want.kind || got.sig != want.sig {
			return fmt.Sprintf("export %s is %s, want %s", want.name, got, external{kind: want.kind, sig: want.sig})
		}
	}
	if len(missing) > 0 {
		return "missing exports: " + strings.Join(missing, ", ")
	}
	if got, ok := s.exports[abi.ExportInitialize]; ok && (got.kind != kindFunc || got.sig != "()") {
		return fmt.Sprintf("export %s is %s, want func()", abi.ExportInitialize, got)
	}
	_, command := s.exports["_start"]
	_, reactor := s.exports[abi.ExportInitialize]
	if command && !reactor {
		return "it is a command with a _start, want a reactor: build it with -buildmode=c-shared or the like"
	}
	return ""
}

func checkImports(s *summary) string {
	var refused []string
	for _, imp := range s.imports {
		want, ok := wasiFuncs[imp.name]
		name := shown(imp.module) + "." + shown(imp.name)
		switch {
		case imp.module != wasiModule || !ok || imp.kind != kindFunc:
			refused = append(refused, name)
		case imp.sig != want.signature():
			return fmt.Sprintf("import %s is %s, want func%s", name, imp, want.signature())
		}
	}
	if len(refused) > 0 {
		slices.Sort(refused)
		return "it imports what a plugin does not get: " + strings.Join(slices.Compact(refused), ", ")
	}
	return ""
}
