/* A parser plugin in C, without a library. The format is described in README.md beside this
 * folder, the ABI in sdk/README.md: this file is written from that document alone.
 *
 *   clang --target=wasm32 -O2 -nostdlib -fno-builtin -Wl,--no-entry -o lines.wasm lines.c
 */
typedef unsigned char byte;
typedef unsigned int u32;
typedef unsigned long long u64;

#define EXPORT(name) __attribute__((export_name("callgate1_" #name)))
#define LENGTH(literal) (sizeof(literal) - 1)

static const char manifest[] =
    "{\"abi\": 1, \"name\": \"lines\", \"version\": \"1.0.0\", \"parsers\": [{\"name\": \"lines\", \"version\": \"1.0.0\","
    "\"priority\": 60, \"streams\": true, \"triggers\": [\"@@call \"], \"formats\": [\"@@call NAME, lines KEY: VALUE, @@end\"],"
    "\"example\": \"@@call get_weather\\ncity: Oslo\\n@@end\"}]}";

static const char opening[] = "@@call ", closing[] = "@@end";

enum { MAX_NAME = 64, MAX_KEYS = 64, MAX_WORD = 32, MAX_HANDLES = 16, PAGE = 65536, MAX_FEED = 65536 };
enum { CONTENT = 1, REASONING, CALL_START, ARGS, CALL_END, MALFORMED, END, CUT, REPAIR };     /* events */
enum { STRING = 1, INTEGER = 2, NUMBER = 4, BOOLEAN = 8, OBJECT = 16, ARRAY = 32, NIL = 64 }; /* types */
enum { NO, YES, MAYBE };                                                                      /* can_parse */
enum { NONE, WORD, QUOTE }; /* how far a value was read: as text that may be a literal, or passed on as a string */

typedef struct { const byte *at, *end; } text; /* also an encoding that is being read */

typedef struct { /* a region */
  byte used, ended, fenced, open, mended, in_value, fresh, value, types;
  int next;           /* index of the next call */
  u32 pos, from;      /* bytes that were read; where the current call begins */
  u32 heads, words;   /* bytes in head and word */
  u32 keys;           /* in key */
  text tools, params; /* encoded: all tools; what follows the name of the tool that is called */
  byte *room;         /* a copy of the tools, and how large it may be */
  u32 size;
  byte head[MAX_NAME + 8], word[MAX_WORD];
  byte key[MAX_KEYS][MAX_NAME + 1]; /* with the length in front */
} region;

static region regions[MAX_HANDLES];

/* The events of a call. One byte of text gives six at most, \u0000; what the events add to a
 * call's few bytes is less than that. */
static byte out[6 * MAX_FEED + PAGE];
static u32 outs;
static byte args[4096]; /* that have not become an event */
static u32 argss;

/* Memory. A buffer that is too small is left behind: every response starts afresh. */

static byte *more(u32 n) {
  u32 pages = __builtin_wasm_memory_grow(0, (n + PAGE - 1) / PAGE);
  if (pages == (u32)-1) __builtin_trap();
  return (byte *)(pages * PAGE);
}

static void copy(byte *to, const byte *from, u32 n) {
  while (n--) *to++ = *from++;
}

static int same(const byte *a, const byte *b, u32 n) {
  while (n--)
    if (*a++ != *b++) return 0;
  return 1;
}

/* Events. */

static void put(byte c) { out[outs++] = c; }

static void put_int(u32 n) { /* LEB128 */
  for (; n >= 0x80; n >>= 7) put((byte)(n | 0x80));
  put((byte)n);
}

static void put_text(const byte *b, u32 n) {
  put_int(n);
  copy(out + outs, b, n);
  outs += n;
}

static void flush(region *r) {
  if (!argss) return;
  put(ARGS);
  put_int(r->next - 1);
  put_text(args, argss);
  argss = 0;
}

static void arg(region *r, byte c) {
  if (argss == sizeof args) flush(r);
  args[argss++] = c;
}

static void arg_text(region *r, const char *s) {
  while (*s) arg(r, *s++);
}

static void arg_escaped(region *r, byte c) {
  static const char hex[] = "0123456789abcdef";
  if (c == '"' || c == '\\') arg(r, '\\'), arg(r, c);
  else if (c == '\n') arg_text(r, "\\n");
  else if (c == '\r') arg_text(r, "\\r");
  else if (c == '\t') arg_text(r, "\\t");
  else if (c < 0x20) arg_text(r, "\\u00"), arg(r, hex[c >> 4]), arg(r, hex[c & 15]);
  else arg(r, c);
}

static void malformed(region *r, u32 to) {
  flush(r);
  put(MALFORMED), put_int(r->from), put_int(to);
  r->ended = 1;
}

static void end(region *r, u32 to) {
  put(END), put_int(to);
  r->ended = 1;
}

/* Options. An encoding that ends early sets at to 0. */

static u32 get_int(text *t) {
  u32 v = 0;
  for (int shift = 0; t->at && t->at < t->end && shift < 32; shift += 7) {
    byte c = *t->at++;
    v |= (u32)(c & 0x7f) << shift;
    if (c < 0x80) return v;
  }
  t->at = 0;
  return 0;
}

static text get_text(text *t) {
  u32 n = get_int(t);
  text s = {t->at, t->at};
  if (!t->at || n > (u32)(t->end - t->at)) s.at = s.end = t->at = 0;
  else s.end = t->at += n;
  return s;
}

static int is(text t, const byte *b, u32 n) { return t.at && (u32)(t.end - t.at) == n && same(t.at, b, n); }

/* find_type is the types of a parameter, 0 if nobody described it. */
static byte find_type(text params, const byte *name, u32 n) {
  for (u32 count = get_int(&params); count && params.at; count--) {
    text param = get_text(&params);
    u32 types = get_int(&params);
    get_int(&params); /* required */
    if (is(param, name, n)) return (byte)types;
  }
  return 0;
}

/* find_tool sets params and says whether there is such a tool. */
static int find_tool(region *r, const byte *name, u32 n) {
  text t = r->tools;
  for (u32 count = get_int(&t); count && t.at; count--) {
    text tool = get_text(&t);
    r->params = t;
    if (is(tool, name, n)) return 1;
    for (u32 params = get_int(&t); params && t.at; params--) get_text(&t), get_int(&t), get_int(&t);
  }
  r->params.at = r->params.end = 0;
  return 0;
}

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

static void begin_string(region *r) {
  r->value = QUOTE;
  arg(r, '"');
  for (u32 i = 0; i < r->words; i++) arg_escaped(r, r->word[i]);
}

/* literal passes the word on as JSON if it is of one of the types. Types of 0 are all. */
static int literal(region *r) {
  static const struct { char word[6], json[6]; byte types, mended; } known[] = {
      {"true", "true", BOOLEAN, 0}, {"false", "false", BOOLEAN, 0}, {"null", "null", NIL, 0},
      {"True", "true", BOOLEAN, 1}, {"False", "false", BOOLEAN, 1}, {"None", "null", NIL, 1}};
  for (u32 i = 0; i < sizeof known / sizeof *known; i++) {
    u32 n = 4 + (known[i].word[4] != 0);
    if (r->words != n || !same(r->word, (const byte *)known[i].word, n)) continue;
    if (!(r->types & known[i].types) && (r->types || known[i].mended)) return 0;
    r->mended |= known[i].mended;
    arg_text(r, known[i].json);
    return 1;
  }
  byte types = number(r->word, r->word + r->words);
  if (!types || (r->types && !(r->types & types))) return 0;
  for (u32 i = 0; i < r->words; i++) arg(r, r->word[i]);
  return 1;
}

static void end_value(region *r) {
  if (r->value == WORD && !literal(r)) begin_string(r);
  if (r->value == QUOTE) arg(r, '"');
  r->value = NONE;
}

static void end_call(region *r) {
  end_value(r);
  arg(r, '}');
  flush(r);
  if (r->mended) put(REPAIR), put_text((const byte *)"args_json", LENGTH("args_json"));
  put(CALL_END), put_int(r->next - 1);
  r->open = 0;
}

/* Lines. These say whether the region can go on like that. */

static int name_byte(byte c) {
  byte low = c | 0x20;
  return (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

static int read_name(region *r, byte c) {
  const byte *name = r->head + LENGTH(opening);
  u32 n = r->heads - LENGTH(opening);
  if (c != '\n') return n <= MAX_NAME && name_byte(c);
  if (--n == 0 || (!find_tool(r, name, n) && r->fenced)) return 0;
  flush(r);
  put(CALL_START), put_int(r->next++), put_text(name, n), put_text(0, 0);
  arg(r, '{');
  r->open = 1;
  r->mended = r->heads = r->keys = 0;
  return 1;
}

static int read_key(region *r, byte c) {
  u32 n = r->heads;
  if (c != ':') return n <= MAX_NAME && name_byte(c);
  if (--n == 0 || r->keys == MAX_KEYS) return 0;
  for (u32 i = 0; i < r->keys; i++)
    if (r->key[i][0] == n && same(r->key[i] + 1, r->head, n)) return 0; /* which counts nobody can know */
  end_value(r);
  if (r->keys) arg(r, ',');
  arg(r, '"');
  for (u32 i = 0; i < n; i++) arg(r, r->head[i]);
  arg_text(r, "\":");
  r->key[r->keys][0] = (byte)n;
  copy(r->key[r->keys++] + 1, r->head, n);
  r->heads = r->words = 0;
  r->in_value = r->fresh = 1;
  r->value = WORD;
  r->types = find_type(r->params, r->head, n);
  if (r->types == STRING) begin_string(r);
  return 1;
}

static void read_value(region *r, byte c) {
  byte fresh = r->fresh;
  r->fresh = 0;
  if (c == '\n' && r->in_value) r->in_value = 0;
  else if (c == ' ' && fresh) return; /* markup */
  else if (r->value == WORD && c != '\n' && r->words < MAX_WORD) r->word[r->words++] = c;
  else {
    if (r->value == WORD) begin_string(r);
    arg_escaped(r, c);
  }
}

/* begins says that the marker begins with the head. */
static int begins(region *r, const char *marker, u32 n) { return r->heads <= n && same(r->head, (const byte *)marker, r->heads); }

static int read_head(region *r, byte c) {
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
    if (r->heads == LENGTH(closing)) end_call(r), end(r, r->pos + 1);
    return 1;
  }
  if (r->heads > LENGTH(opening) && same(r->head, (const byte *)opening, LENGTH(opening))) return read_name(r, c);
  return r->open && read_key(r, c);
}

/* The exports. */

static u64 take(u32 n) { return n ? (u64)(u32)out << 32 | n : 0; }

static region *find(int handle) {
  if (handle < 0 || handle >= MAX_HANDLES || !regions[handle].used || regions[handle].ended) return 0;
  outs = argss = 0;
  return &regions[handle];
}

EXPORT(manifest) u64 callgate_manifest(void) { return (u64)(u32)manifest << 32 | LENGTH(manifest); }

EXPORT(alloc) byte *callgate_alloc(u32 n) {
  static byte *buffer;
  static u32 size;
  if (n > size || !size) {
    size = n > MAX_FEED ? n : MAX_FEED;
    buffer = more(size);
  }
  return buffer;
}

EXPORT(can_parse) int callgate_can_parse(int parser, const byte *head, u32 n) {
  if (parser) return NO;
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

EXPORT(open) int callgate_open(int parser, const byte *b, u32 n) {
  if (parser) return -1;
  int handle = 0;
  while (regions[handle].used)
    if (++handle == MAX_HANDLES) return -3;
  region *r = &regions[handle];
  text options = {b, b + n}, tools = {0, 0};
  byte fenced = 0;
  while (options.at < options.end) {
    byte key = *options.at++;
    text field = get_text(&options);
    if (!options.at) return -2;
    if (key == 1) tools = field;
    if (key == 3) fenced = field.at < field.end && *field.at;
  }
  n = tools.end - tools.at;
  if (n > r->size) r->room = more(r->size = n);
  copy(r->room, tools.at, n);
  r->tools.at = n ? r->room : 0;
  r->tools.end = r->room + n;
  r->used = 1, r->fenced = fenced;
  r->ended = r->open = r->mended = r->in_value = r->fresh = r->value = 0;
  r->next = r->pos = r->from = r->heads = r->words = r->keys = 0;
  return handle;
}

EXPORT(feed) u64 callgate_feed(int handle, const byte *b, u32 n) {
  region *r = find(handle);
  if (!r) return 0;
  for (u32 i = 0; i < n; i++, r->pos++) {
    if (r->in_value) read_value(r, b[i]);
    else if (!read_head(r, b[i])) malformed(r, r->pos ? r->pos : 1); /* the byte may begin something else */
    if (r->ended) return take(outs);
  }
  flush(r);
  return take(outs);
}

EXPORT(finish) u64 callgate_finish(int handle, int reason) {
  region *r = find(handle);
  if (!r) return 0;
  if (r->open && reason == 1) put(CUT), put_int(r->next - 1), end(r, r->pos); /* a token limit cut the call off */
  else malformed(r, r->pos);
  return take(outs);
}

EXPORT(close) void callgate_close(int handle) {
  if (handle >= 0 && handle < MAX_HANDLES) regions[handle].used = 0;
}
