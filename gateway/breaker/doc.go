// Package breaker keeps requests away from a provider that fails. There is one
// [Breaker] for each provider. It is closed while all is well, opens after a number of
// failures in a row, lets one request through as a probe when it has been open for a
// while, closes when that probe succeeds and is open for the same time again when it
// fails.
//
// The rules of the three states are github.com/sony/gobreaker's two-step breaker. What
// is here is what a gateway for language models needs around it:
//
//   - Requests that hang must open it. gobreaker can clear its counts at an interval, and
//     then drops the result of every request that took longer. Requests to a model take
//     minutes, and those that hang take longest, so they would never count. There is no
//     interval here: a failure in a row counts whenever it comes.
//   - A probe must end. gobreaker waits for the probe's result for as long as the process
//     lives; one that is lost would keep the provider shut without end. Here a probe has
//     [Settings].ProbeTimeout. After it the next request is let through as a probe in its
//     place, and the result of the first one no longer counts.
//   - One probe must be all. A provider that has just come back would go down again under
//     every request that waited for it. All others are told to come again in a second.
//   - A result must count once. A timer of the gateway and the end of the stream may both
//     report one. gobreaker would count both. Only the first call of [Pass.Done] counts.
//   - A stream's errors must count. An upstream that fails answers 200 and breaks in the
//     middle, too. So the result is given at the end of the stream, not when its headers
//     come: until then the request is in flight and says nothing.
//   - Old results must not count. When the breaker opens, hundreds of requests may still be
//     under way, and their results come in while a probe tries the provider, or after it
//     has closed again. They are in the totals, but change no state.
//   - Requests that say nothing about the provider's health must not count: see
//     [Excluded]. A rate limit is not a failure either; [Breaker.CoolDown] remembers when it
//     ends, for the order in which targets are tried.
//   - It must cost nothing. gobreaker's Allow returns a function, which is an allocation
//     for every request. Without an interval the closed state ends by a result only, so
//     there gobreaker is not asked before there is one, and one function serves for all.
//
// Nothing runs in the background. A breaker that has been open for long enough becomes
// half-open when somebody next looks at it: with Allow, Available or Snapshot.
package breaker
