// Package author does the work of a plugin's author: New writes a project that builds
// without a network, and Build compiles a project to a module that the gateway loads.
package author
