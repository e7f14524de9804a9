// Package usage reads the usage object of an answer into one form, whoever wrote it.
//
// Providers count differently, and the difference is money:
//
//   - OpenAI, Azure, DashScope (Qwen), Moonshot, DeepSeek and xAI have the tokens that were
//     read from the cache among prompt_tokens, and so does Callgate's own translation of
//     Anthropic's answers. Anthropic's input_tokens are only those that were neither read
//     from the cache nor written to it.
//   - xAI's completion_tokens leave out the tokens of reasoning. All others have them in.
//   - DeepSeek says how many tokens were a hit and how many a miss. Old models of
//     Moonshot's say cached_tokens beside prompt_tokens and not within its details.
//
// The form of the object tells which rule holds, not the provider's name: most
// providers are reached by the same OpenAI-compatible adapter, by proxies too.
package usage
