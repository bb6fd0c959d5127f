/* RocksDB as a store of URLs, for ./dev bench repository: the system's librocksdb behind a pipe.
 *
 * In: u32 count, u8 update, then count times: 8 bytes key, u16 length, text. A count of 0 ends.
 * Out: count bytes, 1 for each key that was not there; those are put, with 8 bytes and the text.
 * With an update of 2 the records are sorted and new: they become a file outside the database that is
 * then taken in, and the answer is one byte.
 * Settings: 10 bits of Bloom filter for each key, 256 MB of block cache with index and filters in
 * it, 64 MB write buffers, two background threads, no compression of the hash-keyed blocks, and the
 * write-ahead log on but synced once for each batch of updates only.
 */
#include <rocksdb/c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(int ok, const char *what) {
  if (!ok) { fprintf(stderr, "bench-rocksdb: %s\n", what); exit(1); }
}
static void get(void *to, size_t len) { need(len == 0 || fread(to, len, 1, stdin) == 1, "input is cut off"); }

typedef struct { char key[8]; char *text; uint16_t len; uint32_t at; } record;

static int by_key(const void *a, const void *b) {
  int order = memcmp(((const record *)a)->key, ((const record *)b)->key, 8);
  uint32_t x = ((const record *)a)->at, y = ((const record *)b)->at;
  return order ? order : (x > y) - (x < y);
}

static void take_sorted(rocksdb_t *db, rocksdb_options_t *options, const char *folder, uint32_t count) {
  static char text[8 + UINT16_MAX];
  char path[4096], *error = NULL;
  snprintf(path, sizeof path, "%s.sorted", folder);
  rocksdb_envoptions_t *env = rocksdb_envoptions_create();
  rocksdb_sstfilewriter_t *writer = rocksdb_sstfilewriter_create(env, options);
  rocksdb_sstfilewriter_open(writer, path, &error);
  need(!error, error ? error : "");
  for (uint32_t at = 0; at < count; at++) {
    char key[8];
    uint16_t len;
    get(key, 8);
    get(&len, 2);
    get(text + 8, len);
    rocksdb_sstfilewriter_put(writer, key, 8, text, len + 8, &error);
    need(!error, error ? error : "");
  }
  rocksdb_sstfilewriter_finish(writer, &error);
  need(!error, error ? error : "");
  rocksdb_ingestexternalfileoptions_t *how = rocksdb_ingestexternalfileoptions_create();
  rocksdb_ingestexternalfileoptions_set_move_files(how, 1);
  const char *paths[1] = {path};
  rocksdb_ingest_external_file(db, paths, 1, how, &error);
  need(!error, error ? error : "");
  rocksdb_ingestexternalfileoptions_destroy(how);
  rocksdb_sstfilewriter_destroy(writer);
  rocksdb_envoptions_destroy(env);
  putchar(1);
  fflush(stdout);
}

int main(int argc, char **argv) {
  need(argc == 2, "usage: bench-rocksdb FOLDER");
  rocksdb_options_t *options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_increase_parallelism(options, 2);
  rocksdb_options_set_max_background_jobs(options, 2);
  rocksdb_options_set_write_buffer_size(options, 64 << 20);
  rocksdb_options_set_compression(options, rocksdb_no_compression);
  rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10));
  rocksdb_block_based_options_set_block_cache(table, rocksdb_cache_create_lru(256 << 20));
  rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
  rocksdb_options_set_block_based_table_factory(options, table);
  char *error = NULL;
  rocksdb_t *db = rocksdb_open(options, argv[1], &error);
  need(!error, error ? error : "");
  rocksdb_readoptions_t *read = rocksdb_readoptions_create();
  rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
  setvbuf(stdin, NULL, _IOFBF, 1 << 20);
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  for (;;) {
    uint32_t count;
    uint8_t update;
    if (fread(&count, 4, 1, stdin) != 1 || count == 0) break;
    get(&update, 1);
    if (update == 2) { take_sorted(db, options, argv[1], count); continue; }
    record *records = calloc(count, sizeof *records);
    const char **keys = calloc(count, sizeof *keys);
    size_t *key_lens = calloc(count, sizeof *key_lens), *value_lens = calloc(count, sizeof *value_lens);
    char **values = calloc(count, sizeof *values), **errors = calloc(count, sizeof *errors);
    unsigned char *verdicts = calloc(count, 1);
    for (uint32_t at = 0; at < count; at++) {
      record *r = &records[at];
      get(r->key, 8);
      get(&r->len, 2);
      r->text = malloc(r->len + 8);
      memset(r->text, update, 8);
      get(r->text + 8, r->len);
      r->at = at;
    }
    qsort(records, count, sizeof *records, by_key);
    for (uint32_t at = 0; at < count; at++) { keys[at] = records[at].key; key_lens[at] = 8; }
    rocksdb_multi_get(db, read, count, keys, key_lens, values, value_lens, errors);
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (uint32_t at = 0; at < count; at++) {
      record *r = &records[at];
      int twice = at > 0 && memcmp(records[at - 1].key, r->key, 8) == 0;
      need(!errors[at], "a read failed");
      if (!values[at] && !twice) verdicts[r->at] = 1;
      if ((!values[at] && !twice) || update) rocksdb_writebatch_put(batch, r->key, 8, r->text, r->len + 8);
      rocksdb_free(values[at]);
    }
    rocksdb_writeoptions_set_sync(write, update);
    rocksdb_write(db, write, batch, &error);
    need(!error, error ? error : "");
    rocksdb_writebatch_destroy(batch);
    fwrite(verdicts, count, 1, stdout);
    fflush(stdout);
    for (uint32_t at = 0; at < count; at++) free(records[at].text);
    free(records); free(keys); free(key_lens); free(value_lens); free(values); free(errors); free(verdicts);
  }
  rocksdb_close(db);
  return 0;
}
