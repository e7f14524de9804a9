// Package store is where responses and conversations are kept between requests: what a
// client names by previous_response_id, conversation or item_reference, and what the
// endpoints for stored things return.
//
// A [Store] is one of three: gateway/store/memory, gateway/store/sqlite or
// gateway/store/postgres. gateway/store/storetest holds all of them to the same contract.
//
// Everything belongs to a tenant, which is the name of the client's key. What is another
// tenant's, has expired, was deleted or never was gives the same error, [ErrNotFound].
//
// What is kept: the bodies of responses and items as they were given, which is users' texts,
// tool calls, and images that were sent inline. How long: a response until its time to live
// after it was last used ([Options.TTL]; a chain that is read counts as a use of all its
// responses), and no longer than there is room ([Limits]); a conversation until it is
// deleted. A response in a conversation has its items in both.
package store
