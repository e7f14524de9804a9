// Package route decides where a request goes: which entry of the configuration the name
// of its model leads to, and which of the entry's rules it meets. It knows nothing of
// targets; the gateway keeps those by the places of entries and rules.
package route
