package tests

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	operator "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/santhosh-tekuri/jsonschema/v6"
	routes "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/callgate/callgate/internal/install"
)

// requireSchemas makes schemas that cannot be had a failure.
const requireSchemas = "CALLGATE_REQUIRE_KUBERNETES"

// versions of Kubernetes that the chart is for: the oldest, the first with preStop's sleep, the
// newest.
var versions = []string{"1.27", "1.30", "1.37"}

// schemas returns the folder of the strict schemas, installed once.
func schemas(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute)
	defer cancel()
	dir, err := installSchemas(ctx)
	install.Need(t, err, requireSchemas)
	return dir
}

func installSchemas(ctx context.Context) (dir string, err error) {
	const remedy = "run the tests where PyPI is in reach"
	pins, err := os.ReadFile("schemas.txt")
	if err != nil {
		return "", err
	}
	python, version, err := install.Python(ctx)
	if err != nil {
		return "", err
	}
	dir, err = install.Once(install.Root(), "kubernetes", append([]string{version, string(pins)}, versions...), func(dir string) error {
		return install.Pinned(ctx, python, string(pins), func(pip func(string, ...string) error, tmp string) error {
			if err := pip("download", "--only-binary", ":all:", "--timeout", "30", "--dest", tmp); err != nil {
				return err
			}
			return unpackSchemas(tmp, dir)
		})
	})
	if err != nil {
		return "", install.MissingError{What: fmt.Sprintf("the schemas of Kubernetes are not installed (%v)", err), Remedy: remedy}
	}
	return dir, nil
}

// unpackSchemas takes the strict ones of our versions out of the package.
func unpackSchemas(from, dir string) error {
	wheels, err := filepath.Glob(filepath.Join(from, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("got %d wheels (%w), want one", len(wheels), err)
	}
	archive, err := zip.OpenReader(wheels[0])
	if err != nil {
		return err
	}
	defer archive.Close()
	for _, v := range versions {
		if err := os.MkdirAll(filepath.Join(dir, v), 0o750); err != nil {
			return err
		}
		found := 0
		for _, f := range archive.File {
			base, ok := strings.CutPrefix(f.Name, "kubernetes_validate/kubernetes-json-schema/v"+v+".0-local-strict/")
			if !ok {
				continue
			}
			found++
			if err := unpackOne(f, filepath.Join(dir, v, filepath.Base(base))); err != nil {
				return err
			}
		}
		if found == 0 {
			return fmt.Errorf("the package has no schemas of %s", v)
		}
	}
	return nil
}

func unpackOne(f *zip.File, to string) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	const most = 16 << 20
	text, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// validator checks objects as a version of Kubernetes does.
type validator struct {
	dir      string
	compiler *jsonschema.Compiler
	known    map[string]*jsonschema.Schema
}

func newValidator(t *testing.T, dir, version string) *validator {
	t.Helper()
	v := &validator{dir: filepath.Join(dir, version), compiler: jsonschema.NewCompiler(), known: map[string]*jsonschema.Schema{}}
	v.add(t, "_definitions")
	return v
}

// add reads a schema. They refer to each other below /api.
func (v *validator) add(t *testing.T, name string) (address string) {
	t.Helper()
	file, err := os.Open(filepath.Join(v.dir, name+".json"))
	if err != nil {
		t.Fatalf("there is no schema: %v", err)
	}
	defer file.Close()
	doc, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	address = "https://kubernetes.io/api/" + name + ".json"
	if err := v.compiler.AddResource(address, doc); err != nil {
		t.Fatal(err)
	}
	return address
}

// validate checks one object; name is for messages.
func (v *validator) validate(t *testing.T, object map[string]any) error {
	t.Helper()
	group, version, grouped := strings.Cut(fmt.Sprint(object["apiVersion"]), "/")
	if !grouped {
		version, group = group, ""
	} else if group, _, _ = strings.Cut(group, "."); group != "" {
		group += "-"
	}
	name := strings.ToLower(fmt.Sprint(object["kind"])) + "-" + group + version
	if v.known[name] == nil {
		address := v.add(t, name)
		schema, err := v.compiler.Compile(address)
		if err != nil {
			t.Fatal(err)
		}
		v.known[name] = schema
	}
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	return v.known[name].Validate(value)
}

// foreign checks an object of a kind that others have defined, by their types; known is false for
// Kubernetes' own.
func foreign(object map[string]any, text []byte) (known bool, err error) {
	switch object["apiVersion"] {
	case "monitoring.coreos.com/v1":
		if object["kind"] == "ServiceMonitor" {
			return true, yaml.UnmarshalStrict(text, &operator.ServiceMonitor{})
		}
		return true, yaml.UnmarshalStrict(text, &operator.PrometheusRule{})
	case "gateway.networking.k8s.io/v1":
		return true, yaml.UnmarshalStrict(text, &routes.HTTPRoute{})
	}
	return false, nil
}
