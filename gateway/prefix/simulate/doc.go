// Package simulate replays a trace of requests through the routing code of package
// prefix, the same that serves, with upstreams that are modelled and a clock that jumps.
//
// A trace has the form of Mooncake's (FAST'25): a line for each request, with ids for
// blocks of its input. The model of an upstream: its cache is a set of block ids, a hit
// are the leading blocks that are in it, and a request takes 0.1 ms for each token that is
// not cached and 20 ms for each token of output. Upstreams take any number of requests at
// once. What the model leaves out, batching, queues and the network, moves times and not
// hit rates.
package simulate
