// Package console has tests alone: they look at the operator's page as an operator does, in a
// browser. They need Chromium, and are skipped where there is none; the environment variable
// CALLGATE_REQUIRE_CHROMIUM=1 makes that a failure, and CALLGATE_CHROMIUM says where it is.
package console
