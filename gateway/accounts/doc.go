// Package accounts says what a provider's prompt cache has saved. It knows what tokens
// cost ([Prices]), and keeps the totals of what was expected of the caches, what came of
// it and how much money that is ([Book]). What the answers themselves say is read by
// package usage.
//
// The package does no I/O and runs nothing in the background.
package accounts
