package responsetemplate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
)

// templates are the directories of testdata that hold a template and its cases.
func templates(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("testdata/*/template.json")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no templates (%v)", err)
	}
	for i, file := range files {
		files[i] = filepath.Dir(file)
	}
	return files
}

func readTemplate(tb testing.TB, dir string) string {
	tb.Helper()
	source, err := os.ReadFile(filepath.Join(dir, "template.json"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(source)
}

// with is the parser with a template, which the cases do not repeat.
func with(template string) sdk.Spec {
	spec := ResponseTemplate()
	open := spec.New
	spec.New = func(o sdk.Options) (sdk.Parser, error) {
		o.Settings = []abi.Setting{{Key: settingTemplate, Value: template}}
		return open(o)
	}
	return spec
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, dir := range templates(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			sdktest.Golden(t, with(readTemplate(t, dir)), dir)
		})
	}
}
