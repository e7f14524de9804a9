// Package share lets gateways tell each other what they have learned about the caches of
// targets, over a Redis that they have in common.
//
// Each gateway has a [Sharer], which every second or so appends what is new in its index
// to a stream, as one batch, and reads what the others have appended. No request waits for
// it: while Redis is away prompts go by what the gateway knows itself.
//
// It is a stream, and not a channel of pub/sub, for what is missed: a gateway that begins,
// or that was cut off, reads what the others have learned meanwhile. A channel has
// forgotten it, and would need each of them to send all that it knows again. The price is
// memory in Redis, which is bounded by length and by time.
//
// A batch is sealed with a key that is made of the salt. Who has another salt, or none,
// can neither be heard nor mislead. What a reader of Redis can see is the names of targets
// and keyed hashes of blocks of prompts, which tell nothing of the prompts.
package share
