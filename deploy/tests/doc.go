// Package tests holds that what deploys the gateway is good: the chart, the service, the rules and
// the dashboard, the set-up of several gateways, and the workflows.
package tests
