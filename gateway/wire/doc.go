// Package wire is bytes: places in JSON text, edits of it and their splice, JSON written
// by hand, and streams of server-sent events. What passes through the gateway stays the
// bytes that it came as; a caller finds the few places that matter, and splices what
// changes.
//
// Nothing here validates. Text that is no JSON gives ok false or a place that is within
// the text, never a panic, in time linear in what is read.
package wire
