/* A parser of tool calls that a model writes as lines; README.md shows the format. callgate.h is
 * the ABI, for any parser. */
#include "callgate.h"

static const char manifest[] =
    "{\"abi\": 1, \"name\": \"my_model\", \"version\": \"0.1.0\", \"parsers\": [{\"name\": \"my_model\", \"version\": \"0.1.0\","
    "\"priority\": 60, \"streams\": true, \"triggers\": [\"@@call \"], \"formats\": [\"@@call NAME, lines KEY: VALUE, @@end\"],"
    "\"example\": \"@@call get_weather\\ncity: Oslo\\n@@end\"}]}";

static const char opening[] = "@@call ", closing[] = "@@end";

enum { MAX_NAME = 64, MAX_KEYS = 64, MAX_WORD = 32 };
enum { NONE, WORD, QUOTE }; /* how far a value was read: as text that may be a literal, or passed on as a string */

typedef struct { /* a region */
  byte open, mended, in_value, fresh, value, types;
  events *out;
  const options *options;
  text params;      /* encoded: those of the tool that is called */
  u32 pos, from;    /* bytes that were read; where the current call begins */
  u32 heads, words; /* bytes in head and word */
  u32 keys;         /* in key */
  byte head[MAX_NAME + 8], word[MAX_WORD];
  byte key[MAX_KEYS][MAX_NAME + 1]; /* with the length in front */
} lines;

/* Values. */

static u32 digits(const byte **b, const byte *end) {
  const byte *from = *b;
  while (*b < end && **b >= '0' && **b <= '9') ++*b;
  return *b - from;
}

/* number is the types that the text has as a number of JSON, or 0. */
static byte number(const byte *b, const byte *end) {
  if (b < end && *b == '-') b++;
  const byte *first = b;
  u32 n = digits(&b, end);
  if (!n || (n > 1 && *first == '0')) return 0;
  if (b == end) return INTEGER | NUMBER;
  if (*b == '.' && (b++, !digits(&b, end))) return 0;
  if (b < end && (*b | 0x20) == 'e') {
    b++;
    if (b < end && (*b == '+' || *b == '-')) b++;
    if (!digits(&b, end)) return 0;
  }
  return b == end ? NUMBER : 0;
}

static void begin_string(lines *r) {
  r->value = QUOTE;
  arg(r->out, '"');
  for (u32 i = 0; i < r->words; i++) arg_escaped(r->out, r->word[i]);
}

/* literal passes the word on as JSON if it is of one of the types. Types of 0 are all. */
static int literal(lines *r) {
  static const struct { char word[6], json[6]; byte types, mended; } known[] = {
      {"true", "true", BOOLEAN, 0}, {"false", "false", BOOLEAN, 0}, {"null", "null", NIL, 0},
      {"True", "true", BOOLEAN, 1}, {"False", "false", BOOLEAN, 1}, {"None", "null", NIL, 1}};
  for (u32 i = 0; i < sizeof known / sizeof *known; i++) {
    u32 n = 4 + (known[i].word[4] != 0);
    if (r->words != n || !same(r->word, (const byte *)known[i].word, n)) continue;
    if (!(r->types & known[i].types) && (r->types || known[i].mended)) return 0;
    r->mended |= known[i].mended;
    arg_text(r->out, known[i].json);
    return 1;
  }
  byte types = number(r->word, r->word + r->words);
  if (!types || (r->types && !(r->types & types))) return 0;
  for (u32 i = 0; i < r->words; i++) arg(r->out, r->word[i]);
  return 1;
}

static void end_value(lines *r) {
  if (r->value == WORD && !literal(r)) begin_string(r);
  if (r->value == QUOTE) arg(r->out, '"');
  r->value = NONE;
}

static void end_call(lines *r) {
  end_value(r);
  arg(r->out, '}');
  if (r->mended) repair(r->out, "args_json", LENGTH("args_json")); /* never silently: the gateway counts and shows it */
  call_end(r->out);
  r->open = 0;
}

/* Lines. These say whether the region can go on like that. */

static int name_byte(byte c) {
  byte low = c | 0x20;
  return (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

static int read_name(lines *r, byte c) {
  const byte *name = r->head + LENGTH(opening);
  u32 n = r->heads - LENGTH(opening);
  if (c != '\n') return n <= MAX_NAME && name_byte(c);
  if (--n == 0 || (!find_tool(r->options->tools, name, n, &r->params) && r->options->fenced)) return 0;
  call_start(r->out, name, n);
  arg(r->out, '{');
  r->open = 1;
  r->mended = r->heads = r->keys = 0;
  return 1;
}

static int read_key(lines *r, byte c) {
  u32 n = r->heads;
  if (c != ':') return n <= MAX_NAME && name_byte(c);
  if (--n == 0 || r->keys == MAX_KEYS) return 0;
  for (u32 i = 0; i < r->keys; i++)
    if (r->key[i][0] == n && same(r->key[i] + 1, r->head, n)) return 0; /* which counts nobody can know */
  end_value(r);
  if (r->keys) arg(r->out, ',');
  arg(r->out, '"');
  for (u32 i = 0; i < n; i++) arg(r->out, r->head[i]);
  arg_text(r->out, "\":");
  r->key[r->keys][0] = (byte)n;
  copy(r->key[r->keys++] + 1, r->head, n);
  r->heads = r->words = 0;
  r->in_value = r->fresh = 1;
  r->value = WORD;
  r->types = find_type(r->params, r->head, n);
  if (r->types == STRING) begin_string(r);
  return 1;
}

static void read_value(lines *r, byte c) {
  byte fresh = r->fresh;
  r->fresh = 0;
  if (c == '\n' && r->in_value) r->in_value = 0;
  else if (c == ' ' && fresh) return; /* markup */
  else if (r->value == WORD && c != '\n' && r->words < MAX_WORD) r->word[r->words++] = c;
  else {
    if (r->value == WORD) begin_string(r);
    arg_escaped(r->out, c);
  }
}

/* begins says that the marker begins with the head. */
static int begins(lines *r, const char *marker, u32 n) { return r->heads <= n && same(r->head, (const byte *)marker, r->heads); }

static int read_head(lines *r, byte c) {
  if (!r->heads && c == '|' && r->value != NONE) {
    read_value(r, '\n');
    return r->in_value = r->fresh = 1;
  }
  r->head[r->heads++] = c;
  if (begins(r, opening, LENGTH(opening))) {
    if (r->heads < LENGTH(opening)) return 1;
    if (r->open) end_call(r);
    r->from = r->pos + 1 - LENGTH(opening);
    return 1;
  }
  if (r->open && begins(r, closing, LENGTH(closing))) {
    if (r->heads == LENGTH(closing)) end_call(r), end(r->out, r->pos + 1);
    return 1;
  }
  if (r->heads > LENGTH(opening) && same(r->head, (const byte *)opening, LENGTH(opening))) return read_name(r, c);
  return r->open && read_key(r, c);
}

/* The parser. */

static int can_parse(const byte *head, u32 n) {
  for (u32 i = 0; i < n; i++) {
    if (i < LENGTH(opening)) {
      if (head[i] != (byte)opening[i]) return NO;
    } else if (head[i] == '\n' && i > LENGTH(opening)) {
      return YES;
    } else if (!name_byte(head[i]) || i == LENGTH(opening) + MAX_NAME) {
      return NO;
    }
  }
  return MAYBE;
}

static void open_region(void *state, events *out, const options *o) {
  lines *r = state;
  r->out = out;
  r->options = o;
}

static void feed(void *state, const byte *b, u32 n) {
  lines *r = state;
  for (u32 i = 0; i < n && !r->out->ended; i++, r->pos++) {
    if (r->in_value) read_value(r, b[i]);
    else if (!read_head(r, b[i])) malformed(r->out, r->from, r->pos ? r->pos : 1); /* the byte may begin something else */
  }
}

static void finish(void *state, int reason) {
  lines *r = state;
  if (r->open && reason == CUT_OFF) cut(r->out), end(r->out, r->pos);
  else malformed(r->out, r->from, r->pos);
}

static const parser parsers[] = {{can_parse, open_region, feed, finish, sizeof(lines)}};
const plugin callgate_plugin = {manifest, parsers, sizeof parsers / sizeof *parsers};
