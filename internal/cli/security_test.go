package cli

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// securityRows are the rows of the table in SECURITY.md by name.
func securityRows() map[string]func(t *testing.T) {
	return map[string]func(t *testing.T){
		"http":          securityRow("http"),
		"json":          securityRow("json"),
		"authorization": securityRow("authorization"),
		"host":          securityRow("host"),
		"endpoints":     securityRow("endpoints"),
		"addresses":     securityRow("addresses"),
		"cross_site":    securityRow("cross_site"),
		"identity":      securityRow("identity"),
		"bounds":        securityRow("bounds"),
		"assignment":    securityRow("assignment"),
		"keys":          securityKeys,
		"sandbox":       securitySandbox,
		"redirects":     securityRedirects,
		"open":          securityOpen,
		"empty":         securityEmpty,
		"defaults":      securityDefaults,
		"amounts":       securityAmounts,
		"loop":          securityLoop,
		"supply":        securitySupply,
		"tenants":       securityTenants,

		"response_headers": securityResponseHeaders,
		"header_names":     securityHeaderNames,
		"quoted_keys":      securityQuotedKeys,
	}
}

// TestSecurity plays what has gone wrong in gateways and servers elsewhere.
func TestSecurity(t *testing.T) {
	t.Parallel()
	for name, play := range securityRows() {
		t.Run(name, play)
	}
}

// TestSecurityTable holds that the table in SECURITY.md names every row that is tested,
// that every test it names exists, and that no data lies about which nobody plays.
func TestSecurityTable(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	tests := testNames(t)
	for _, m := range regexp.MustCompile("`(Test\\w+)(?:/([\\w-]+))?`").FindAllStringSubmatch(string(document), -1) {
		if m[1] == "TestSecurity" && m[2] != "" {
			named = append(named, m[2])
		}
		if !tests[m[1]] {
			t.Errorf("SECURITY.md names %s, which is no test", m[1])
		}
	}
	slices.Sort(named)
	rows := slices.Sorted(maps.Keys(securityRows()))
	if got := slices.Compact(named); !slices.Equal(got, rows) {
		t.Errorf("got the rows %q in SECURITY.md, want %q", got, rows)
	}
	directories, err := filepath.Glob("testdata/security/*")
	if err != nil || len(directories) == 0 {
		t.Fatalf("got no data: %v", err)
	}
	for _, path := range directories {
		if !slices.Contains(rows, filepath.Base(path)) {
			t.Errorf("got data of %s, which is no row", path)
		}
	}
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testNames are the tests of all packages.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range testFunction.FindAllSubmatch(b, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
