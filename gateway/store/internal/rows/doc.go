// Package rows is a [store.Store] in the tables of an SQL database: what
// gateway/store/sqlite and gateway/store/postgres have in common. What they do not is a
// [Dialect].
package rows
