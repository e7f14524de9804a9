package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"
)

const chartDir = "../helm/callgate"

// object is what the chart renders.
type object = map[string]any

// render is "helm template": the chart's objects and its notes, for values over its own.
func render(t *testing.T, kube string, values object) (objects []object, notes string, err error) {
	t.Helper()
	chart, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	version, err := chartutil.ParseKubeVersion("v" + kube + ".0")
	if err != nil {
		t.Fatal(err)
	}
	caps := chartutil.DefaultCapabilities.Copy()
	caps.KubeVersion = *version
	top, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: "llm", Namespace: "gateways", IsInstall: true, Revision: 1}, caps)
	if err != nil {
		return nil, "", err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, top)
	if err != nil {
		return nil, "", err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, "NOTES.txt") {
			notes = files[name]
			continue
		}
		for doc := range strings.SplitSeq("\n"+files[name], "\n---") {
			if strings.TrimSpace(doc) == "" {
				continue
			}
			var o object
			if err := yaml.UnmarshalStrict([]byte(doc), &o); err != nil { // a key twice is an error
				t.Fatalf("%s: %v\n%s", name, err, doc)
			}
			if o != nil {
				objects = append(objects, o)
			}
		}
	}
	return objects, notes, nil
}

// at is what is at a path of an object: keys, and numbers for elements.
func at(o any, path ...any) any {
	for _, p := range path {
		switch key := p.(type) {
		case string:
			m, _ := o.(map[string]any)
			o = m[key]
		case int:
			list, _ := o.([]any)
			if key >= len(list) {
				return nil
			}
			o = list[key]
		}
	}
	return o
}

func find(objects []object, kind, name string) object {
	for _, o := range objects {
		if o["kind"] == kind && at(o, "metadata", "name") == name {
			return o
		}
	}
	return nil
}

func valuesFile(t *testing.T, name string) object {
	t.Helper()
	values, err := chartutil.ReadValuesFile(filepath.Join(chartDir, "ci", name))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// cases are the values files of the chart.
func cases(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chartDir, "ci", "*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("got %q and error %v", files, err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return files
}

// TestChart renders the chart with each file of values and holds all objects against the strict
// schemas of several versions of Kubernetes, and the configuration against the gateway's own.
func TestChart(t *testing.T) {
	t.Parallel()
	dir := schemas(t)
	for _, version := range versions {
		v := newValidator(t, dir, version)
		for _, name := range cases(t) {
			objects, _, err := render(t, version, valuesFile(t, name))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, o := range objects {
				text, err := json.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				known, err := foreign(o, text)
				if !known {
					err = v.validate(t, o)
				}
				if err != nil {
					t.Errorf("%s, Kubernetes %s, %s %s: %v", name, version, o["kind"], at(o, "metadata", "name"), err)
				}
			}
		}
	}
	// A schema that takes anything would find nothing.
	v := newValidator(t, dir, versions[0])
	objects, _, err := render(t, versions[0], valuesFile(t, "least-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	wrong := find(objects, "Deployment", "llm-callgate")
	container := at(wrong, "spec", "template", "spec", "containers", 0).(map[string]any)
	container["readinesProbe"] = container["readinessProbe"]
	if err := v.validate(t, wrong); err == nil || !strings.Contains(err.Error(), "readinesProbe") {
		t.Errorf("a misspelt probe: got error %v", err)
	}
}

// TestChartConfig holds that the configuration which the chart renders is one that the gateway takes.
func TestChartConfig(t *testing.T) {
	for _, name := range []string{"CALLGATE_KEY_HASH", "CALLGATE_ADMIN_KEY_HASH"} {
		t.Setenv(name, hashOf(name))
	}
	for name, value := range map[string]string{"OPENAI_API_KEY": "k", "CALLGATE_CACHE_SALT": "pepper", "REDIS_URL": "redis://r:6379", "DATABASE_URL": "postgres://u:p@h:5432/d"} {
		t.Setenv(name, value)
	}
	for _, name := range cases(t) {
		objects, _, err := render(t, "1.30", valuesFile(t, name))
		if err != nil {
			t.Fatal(err)
		}
		full := name == "full-values.yaml"
		text := fmt.Sprint(at(find(objects, "ConfigMap", map[bool]string{true: "gateway", false: "llm-callgate"}[full]), "data", "callgate.yaml"))
		file := filepath.Join(t.TempDir(), "callgate.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := check(t, file)
		if err != nil {
			t.Errorf("%s: callgate check: %v\n%s\n%s", name, err, out, text)
			continue
		}
		var cfg struct {
			Listen string `json:"listen"`
			Admin  struct {
				Listen  string `json:"listen"`
				KeyHash string `json:"key_hash"`
			} `json:"admin"`
		}
		if err := yaml.Unmarshal([]byte(out), &cfg); err != nil {
			t.Fatal(err)
		}
		if cfg.Listen != ":8080" || (name == "one-values.yaml") != strings.Contains(out, "\nreload: off\n") || full != (cfg.Admin.Listen == ":9090") || full == (cfg.Admin.KeyHash == "") {
			t.Errorf("%s: got %+v", name, cfg)
		}
	}
}

// TestChartPods holds what a cluster needs of the pods: how they start and end, what they may do,
// and how much memory they think they have.
func TestChartPods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values, kube, name string
		grace              float64
		limit              any
		sleeps             bool
	}{
		{"least-values.yaml", "1.30", "llm-callgate", 330 + 5 + 5 + 5, "819MiB", true},
		{"least-values.yaml", "1.29", "llm-callgate", 330 + 5 + 5, "819MiB", false},
		{"full-values.yaml", "1.37", "gateway", 900 + 5 + 5 + 5, "2048MiB", true},
		{"one-values.yaml", "1.37", "llm-callgate", 330 + 5, "819MiB", false},
	} {
		objects, _, err := render(t, c.kube, valuesFile(t, c.values))
		if err != nil {
			t.Fatal(err)
		}
		d := find(objects, "Deployment", c.name)
		pod := at(d, "spec", "template", "spec")
		main := at(pod, "containers", 0)
		var limit any
		for _, e := range at(main, "env").([]any) {
			if at(e, "name") == "GOMEMLIMIT" {
				limit = at(e, "value")
			}
		}
		if got := at(pod, "terminationGracePeriodSeconds"); got != c.grace || limit != c.limit || (at(main, "lifecycle") != nil) != c.sleeps {
			t.Errorf("%s on %s: got %v seconds to end, GOMEMLIMIT %v, lifecycle %v; want %v", c.values, c.kube, got, limit, at(main, "lifecycle"), c)
		}
		if at(pod, "automountServiceAccountToken") != false || at(pod, "securityContext", "runAsNonRoot") != true || at(main, "securityContext", "readOnlyRootFilesystem") != true ||
			at(main, "securityContext", "capabilities", "drop", 0) != "ALL" || at(main, "securityContext", "allowPrivilegeEscalation") != false || at(main, "resources", "limits", "cpu") != nil {
			t.Errorf("%s: got a pod that may do too much: %v", c.values, pod)
		}
		if at(main, "startupProbe", "httpGet", "path") != "/livez" || at(main, "livenessProbe", "httpGet", "path") != "/livez" || at(main, "readinessProbe", "httpGet", "path") != "/readyz" {
			t.Errorf("%s: got other probes", c.values)
		}
		annotations := at(d, "spec", "template", "metadata", "annotations").(map[string]any)
		if one := c.values == "one-values.yaml"; one != (annotations["checksum/config"] != nil) || one == (at(d, "spec", "replicas") == nil) {
			t.Errorf("%s: got annotations %v and replicas %v", c.values, annotations, at(d, "spec", "replicas"))
		}
		for _, m := range at(main, "volumeMounts").([]any) {
			if at(m, "subPath") != nil {
				t.Errorf("%s: a file that is mounted by subPath never changes", c.values)
			}
		}
	}
}

// TestChartExposes holds that the operator's listener is in no Service of clients, that metrics are
// those which the gateway has, and that the notes say what is missing.
func TestChartExposes(t *testing.T) {
	t.Parallel()
	least, notes, err := render(t, "1.37", valuesFile(t, "least-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if find(least, "Service", "llm-callgate-admin") != nil || len(at(find(least, "Service", "llm-callgate"), "spec", "ports").([]any)) != 1 {
		t.Error("the admin listener is exposed without being asked for")
	}
	if !strings.Contains(notes, "CPU alone") || !strings.Contains(notes, "port-forward") {
		t.Errorf("got the notes %s", notes)
	}
	full, _, err := render(t, "1.37", valuesFile(t, "full-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	monitor := find(full, "ServiceMonitor", "gateway")
	admin := find(full, "Service", "gateway-admin")
	for key, want := range at(monitor, "spec", "selector", "matchLabels").(map[string]any) {
		if at(admin, "metadata", "labels", key) != want {
			t.Errorf("the ServiceMonitor wants %s=%v, and the Service has %v", key, want, at(admin, "metadata", "labels", key))
		}
	}
	if at(find(full, "Service", "gateway"), "metadata", "labels", "app.kubernetes.io/component") != nil {
		t.Error("the ServiceMonitor would scrape the clients' Service too")
	}
	pods := at(find(full, "Deployment", "gateway"), "spec", "template", "metadata", "labels").(map[string]any)
	for _, o := range []object{find(full, "NetworkPolicy", "gateway"), find(full, "PodDisruptionBudget", "gateway"), admin} {
		selector, ok := at(o, "spec", "selector").(map[string]any)
		if o["kind"] != "Service" {
			if selector, ok = at(o, "spec", "selector", "matchLabels").(map[string]any); !ok {
				selector, ok = at(o, "spec", "podSelector", "matchLabels").(map[string]any)
			}
		}
		for key, want := range selector {
			if pods[key] != want {
				t.Errorf("%s selects %s=%v, and pods have %v", o["kind"], key, want, pods[key])
			}
		}
		if !ok {
			t.Errorf("%s selects nothing", o["kind"])
		}
	}
	test := at(find(full, "Pod", "gateway-ready"), "metadata", "labels").(map[string]any)
	if test["app.kubernetes.io/name"] == pods["app.kubernetes.io/name"] {
		t.Error("the Service would send requests to the test's pod")
	}
	if metric := at(find(full, "HorizontalPodAutoscaler", "gateway"), "spec", "metrics", 1, "pods", "metric", "name"); metric != inFlight {
		t.Errorf("got the metric %v, want %s", metric, inFlight)
	}
}

// TestChartRefuses holds that values which are no good get an answer that names them.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	with := func(key string, value any) object { return object{"existingSecret": "s", key: value} }
	for name, c := range map[string]struct {
		values object
		want   string
	}{
		"no secret":      {object{}, "existingSecret is missing"},
		"misspelt":       {with("replicaCount", 3), "replicaCount"},
		"no number":      {with("replicas", "three"), "replicas"},
		"negative":       {with("drainSeconds", -1), "drainSeconds"},
		"cpu":            {with("autoscaling", object{"cpu": 0}), "cpu"},
		"blocked drains": {with("podDisruptionBudget", object{"maxUnavailable": 0}), "maxUnavailable"},
		"digest":         {with("image", object{"digest": "latest"}), "digest"},
		"memory":         {with("resources", object{"limits": object{"memory": "1 GB"}}), "memory"},
		"own listener":   {with("config", object{"listen": ":80"}), "config.listen is the chart's"},
		"own reload":     {with("config", object{"reload": "signal"}), "config.reload is the chart's"},
		"own admin":      {with("config", object{"admin": object{"listen": ":81"}}), "config.admin is the chart's"},
		"sqlite":         {with("config", object{"store": object{"kind": "sqlite", "path": "/tmp/x"}}), "one machine"},
		"no metrics":     {with("serviceMonitor", object{"enabled": true}), "admin.expose"},
		"no gateway":     {with("httpRoute", object{"enabled": true}), "parentRefs"},
		"one port":       {with("admin", object{"port": 8080}), "port"},
	} {
		if _, _, err := render(t, "1.37", c.values); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one that says %q", name, err, c.want)
		}
	}
}

// TestChartLint is "helm lint" with each file of values.
func TestChartLint(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		result := lint.AllWithKubeVersion(chartDir, valuesFile(t, name), "gateways", nil)
		for _, m := range result.Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

// TestChartCopies holds that the chart has the rules and the dashboard of their folders.
func TestChartCopies(t *testing.T) {
	t.Parallel()
	for from, to := range map[string]string{"prometheus/rules.yaml": "files/rules.yaml", "grafana/callgate.json": "files/dashboard.json"} {
		a, err := os.ReadFile(filepath.Join("..", from))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(chartDir, to))
		if err != nil || string(a) != string(b) {
			t.Errorf("the chart has another one (%v): cp deploy/%s deploy/helm/callgate/%s", err, from, to)
		}
	}
}
