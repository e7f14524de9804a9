// Package hint helps the prompt caches of upstreams. It makes the key by which OpenAI
// brings requests with the same beginning to the same machine ([Keys]), finds the places
// that Anthropic's cache is to remember ([Marks]), and notices clients that change what
// they have sent before, which no cache survives ([Histories]).
//
// All of it works on requests that have been validated, and takes time linear in them.
package hint
