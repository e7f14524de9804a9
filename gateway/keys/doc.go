// Package keys knows the keys of clients and their teams: what each may do, which are in the
// configuration and which were made at run time, and whose key a request has come with. It keeps a
// key's SHA-256 alone.
//
// A [Book] answers who a key belongs to. A [Manager] makes, rotates, blocks and deletes keys at run
// time, in a [Keeper], which is a part of the store.
package keys
