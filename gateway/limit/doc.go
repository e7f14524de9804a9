// Package limit counts what clients may use, and what they have: requests and tokens by rates,
// requests at a time, and budgets of money and tokens by days, weeks and months.
//
// All limits of a request are looked at, and taken of, in one step, all or nothing: [Limiter.Acquire].
// What the request will use is not known then, so it holds an estimate, which may grow while its answer
// comes ([Limiter.Extend]), and at the end what it has used takes the hold's place ([Limiter.Settle]).
// A hold is a lease: if nobody renews it, since its gateway was killed, it becomes what was used when it
// was renewed last, and is never held for good.
//
// [Memory] keeps the numbers in this process, [Shared] in a Redis, by one script, for many gateways; they
// do the same to the last unit, and have one suite of tests. [Away] stands in front of Shared, and says what happens while the
// Redis is away.
//
// Rates are buckets that fill continuously, not windows. Budgets have windows in UTC, each with numbers
// of its own, so nothing is ever set to zero. A request counts to the window in which it began. All
// numbers are whole: tokens, 10⁻⁹ US dollars, microseconds, and none is above 2⁵³, so that Lua keeps
// every digit.
package limit
