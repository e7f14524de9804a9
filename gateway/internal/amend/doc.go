// Package amend holds the policies that change requests on their way to an upstream, one a
// file. They do not know each other; the order in which they are asked is package flow's.
package amend
