// Package registry has tests alone: they pull plugins from a registry as people run it.
package registry
