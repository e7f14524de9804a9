// Package tests holds that what deploys the gateway is good: the chart, the units, the rules and
// the dashboard, the set-up of several gateways, and what makes releases.
package tests
