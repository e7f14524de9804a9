// Package state is what the Responses API remembers: it puts what earlier responses,
// conversations and references to items stand for in front of a request, stores a response
// before its client is told that it is over, answers the endpoints for what is stored, and
// runs responses that nobody waits for.
//
// What is kept is in a [store.Store], by tenant, which is the name of the client's key. What
// is not there and what is another tenant's get the same answer. A request with store: false
// leaves nothing.
package state
