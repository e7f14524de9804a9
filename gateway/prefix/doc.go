// Package prefix knows which upstream has the beginning of a prompt in its cache, and
// chooses the target of a request by it. It does not touch the network, and its clock can
// be given.
//
// A prompt becomes a [Chain], the hashes of its 512-byte blocks, each of which covers
// all that stands before it. An [Index] remembers for every target the blocks of the
// prompts that it has answered. [Index.Choose] weighs what a target would have to read
// anew against how busy it is:
//
//	cost = 4 × share of the prompt that is not cached + load
//
// where a load of 1 is that of a target with little to do, and grows with its running
// requests.
// The form of the cost is that of NVIDIA Dynamo's KV router (overlap weight × blocks to
// prefill + running ones), the block chain with one LRU per target that of llm-d's
// prefix scorer. A prompt that no target knows goes where a rendezvous hash of its first
// block of its own sends it, so gateways that have not talked to each other agree. Blocks
// that everybody sends, such as a common system prompt, do not count for that: hashing
// them would send everything to one target.
//
// The order of calls for a request:
//
//	decision := index.Choose(chain, candidates)
//	// … the target answers …
//	index.Answered(decision.Target, chain, decision.Expected, usage) // on success only
//
// Gateways share what they learn: [Index.Deltas] gives out what is new, [Index.Apply]
// takes it in. Package simulate replays public traces through this code.
package prefix
