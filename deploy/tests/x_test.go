package tests

import (
	_ "github.com/compose-spec/compose-go/v2/loader"
	_ "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	_ "github.com/prometheus/prometheus/promql/parser"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "helm.sh/helm/v3/pkg/chart/loader"
	_ "helm.sh/helm/v3/pkg/chartutil"
	_ "helm.sh/helm/v3/pkg/engine"
	_ "helm.sh/helm/v3/pkg/lint"
	_ "sigs.k8s.io/yaml"

	_ "github.com/callgate/callgate/gateway/config"
	_ "github.com/callgate/callgate/internal/postgrestest"
	_ "github.com/callgate/callgate/internal/redistest"
)
