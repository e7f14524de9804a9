// Package tracelog makes a trace of requests out of the gateway's own log, in the form
// that package simulate replays. The log has what is needed with log.prefix: keyed hashes
// of each prompt's blocks and its tokens, and nothing that the prompt says.
//
// Blocks get small ids, in the order in which they first come. Ours are of 512 bytes,
// Mooncake's of 512 tokens: whoever replays the trace needs [Summary.BlockTokens].
package tracelog
