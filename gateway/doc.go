// Package gateway is the domain: a client's chat request, the route that it
// takes, the attempt to ask an upstream, and the reply that goes back. It knows
// neither the HTTP server nor WebAssembly; it declares the small interfaces that
// it uses, and providers and plugins implement them.
//
// The wire of both sides is OpenAI's chat completion JSON. A request and every
// chunk of a reply stay the bytes that they came as: the package reads them by
// span and splices the few fields that change, so that fields nobody here knows
// go on untouched.
//
// What is done with them is told by package flow; docs/architecture.md shows the ways of a
// request, a delta and an error on a screen each.
package gateway
