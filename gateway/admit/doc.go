// Package admit stands between gateway/run and gateway/flow, and lets pass what the limits of a client
// allow: each round of a request that runs tools, and each request for another endpoint.
//
// What a request will use is estimated, from its bytes and from what requests for its model have used, and held
// (gateway/limit). While its answer comes the hold grows with it. At the end all that upstreams have
// reported for it is settled: attempts whose answers were thrown away, and the guard's judge, too. What they have not
// reported is estimated, and says so. Each answer of an upstream is a row of usage.
package admit
