// Package author does the work of a plugin's author: New writes a project that builds
// with the ordinary toolchain of its language, and Build compiles a project to a module that
// the gateway loads.
package author
