// Package memory is the [store.Store] that keeps everything in the process, and forgets it
// with the process. It is bounded in number and bytes, and needs no configuration.
package memory
