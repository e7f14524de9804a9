// Package answers keeps whole answers to requests that can be answered alike: it names
// them, bounds them, lets one of several equal requests ask for all, and stores them in
// memory or in Redis. Which requests and answers those are is decided by package
// gateway, its only user besides the wiring.
//
// An answer is somebody's text. Its name is a keyed hash of all that it depends on, the
// tenant among it, so that nobody can ask for what another has asked without sending
// the same with the same key. The request itself is kept nowhere.
package answers
