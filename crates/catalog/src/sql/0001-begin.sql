-- Tables are written by Teia alone and may change; the views below are what to ask (docs/catalog.md).
-- Moments and spans are in microseconds, moments since 1970 in UTC.

CREATE TABLE collection (
  id {{identity}},
  directory {{text}} NOT NULL,          -- the key of the data directory: a database may hold several
  name {{text}} NOT NULL,
  position BIGINT NOT NULL,         -- the last journal entry that is in here
  position_at BIGINT NOT NULL,      -- its moment, by which another journal is told from ours
  options {{text}} NOT NULL,
  UNIQUE (directory, name)
);

CREATE TABLE outcome (
  number BIGINT NOT NULL PRIMARY KEY,
  name {{text}} NOT NULL,
  meaning {{text}} NOT NULL,
  retry {{text}} NOT NULL
);

CREATE TABLE run (
  collection BIGINT NOT NULL,
  number BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  ended {{text}},
  is_paused BIGINT NOT NULL,
  version {{text}} NOT NULL,
  seeds BIGINT NOT NULL,
  active_micros BIGINT NOT NULL,
  fetched BIGINT NOT NULL,
  errors BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  requests BIGINT NOT NULL,
  robots_requests BIGINT NOT NULL,
  duplicates BIGINT NOT NULL,
  admitted BIGINT NOT NULL,
  PRIMARY KEY (collection, number)
);

CREATE TABLE minute (
  collection BIGINT NOT NULL,
  run BIGINT NOT NULL,
  minute BIGINT NOT NULL,
  fetched BIGINT NOT NULL,
  errors BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  requests BIGINT NOT NULL,
  robots_requests BIGINT NOT NULL,
  admitted BIGINT NOT NULL,
  PRIMARY KEY (collection, run, minute)
);

CREATE TABLE host (
  collection BIGINT NOT NULL,
  host {{text}} NOT NULL,
  admitted BIGINT NOT NULL,
  fetched BIGINT NOT NULL,
  errors BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  requests BIGINT NOT NULL,
  answered BIGINT NOT NULL,
  answer_micros BIGINT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  PRIMARY KEY (collection, host)
);

CREATE TABLE document (
  collection BIGINT NOT NULL,
  name {{bytes}} NOT NULL,
  url {{text}} NOT NULL,
  host {{text}} NOT NULL,
  extension {{text}} NOT NULL,
  is_dynamic BIGINT NOT NULL,
  depth BIGINT NOT NULL,
  run BIGINT NOT NULL,
  outcome BIGINT NOT NULL,
  detail {{text}},
  next {{text}} NOT NULL,
  visit BIGINT NOT NULL,
  attempts BIGINT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  fetched_at BIGINT,
  media_type {{text}},
  wire_bytes BIGINT,
  body_bytes BIGINT,
  payload_sha1 {{bytes}},
  text_digest {{bytes}},
  language {{text}},
  title {{text}},
  capture BIGINT,
  is_kept BIGINT,
  is_duplicate BIGINT,
  PRIMARY KEY (collection, name)
);
CREATE INDEX document_by_host ON document (collection, host);

CREATE TABLE attempt (
  collection BIGINT NOT NULL,
  entry BIGINT NOT NULL,
  place BIGINT NOT NULL,
  run BIGINT NOT NULL,
  url {{text}} NOT NULL,
  host {{text}} NOT NULL,
  started_at BIGINT NOT NULL,
  outcome BIGINT NOT NULL,
  detail {{text}},
  visit BIGINT NOT NULL,
  try_number BIGINT NOT NULL,
  is_robots BIGINT NOT NULL,
  is_request BIGINT NOT NULL,
  is_answered BIGINT NOT NULL,
  next {{text}} NOT NULL,
  retry_at BIGINT,
  flags {{text}} NOT NULL,
  remote {{text}},
  protocol {{text}} NOT NULL,
  media_type {{text}},
  wire_bytes BIGINT NOT NULL,
  body_bytes BIGINT NOT NULL,
  dns_micros BIGINT NOT NULL,
  connect_micros BIGINT NOT NULL,
  tls_micros BIGINT NOT NULL,
  first_byte_micros BIGINT NOT NULL,
  body_micros BIGINT NOT NULL,
  capture BIGINT,
  PRIMARY KEY (collection, entry, place)
);
CREATE INDEX attempt_by_host ON attempt (collection, host, started_at);

CREATE VIEW collections AS
SELECT
  c.directory, c.name, c.position AS journal_entry, {{time c.position_at}} AS up_to, c.options,
  (SELECT COUNT(*) FROM run r WHERE r.collection = c.id) AS runs,
  (SELECT COUNT(*) FROM document d WHERE d.collection = c.id) AS documents,
  (SELECT COUNT(*) FROM host h WHERE h.collection = c.id) AS hosts
FROM collection c;

CREATE VIEW runs AS
SELECT
  c.directory, c.name AS collection, r.number, {{time r.started_at}} AS started_at, {{time r.last_at}} AS last_at,
  r.ended, r.is_paused, r.version, r.seeds, r.active_micros / 1000000 AS active_seconds,
  r.fetched, r.errors, r.bytes, r.requests, r.robots_requests, r.duplicates, r.admitted
FROM run r JOIN collection c ON c.id = r.collection;

CREATE VIEW minutes AS
SELECT
  c.directory, c.name AS collection, m.run, {{time m.minute}} AS minute,
  m.fetched, m.errors, m.bytes, m.requests, m.robots_requests, m.admitted
FROM minute m JOIN collection c ON c.id = m.collection;

CREATE VIEW hosts AS
SELECT
  c.directory, c.name AS collection, h.host, h.admitted, h.fetched, h.errors, h.bytes, h.requests, h.answered,
  CASE WHEN h.answered = 0 THEN NULL ELSE h.answer_micros / h.answered END AS mean_answer_micros,
  {{time h.first_at}} AS first_at, {{time h.last_at}} AS last_at
FROM host h JOIN collection c ON c.id = h.collection;

CREATE VIEW documents AS
SELECT
  c.directory, c.name AS collection, d.url, d.host, d.extension, d.is_dynamic, d.depth, d.run,
  d.outcome, o.name AS outcome_name, o.meaning, d.detail, d.next, d.visit, d.attempts,
  {{time d.first_at}} AS first_at, {{time d.last_at}} AS last_at, {{time d.fetched_at}} AS fetched_at,
  d.media_type, d.wire_bytes, d.body_bytes, {{hex d.payload_sha1}} AS payload_sha1,
  {{hex d.text_digest}} AS text_digest, d.language, d.title, d.capture, d.is_kept, d.is_duplicate,
  {{hex d.name}} AS url_name
FROM document d JOIN collection c ON c.id = d.collection LEFT JOIN outcome o ON o.number = d.outcome;

CREATE VIEW attempts AS
SELECT
  c.directory, c.name AS collection, a.entry AS journal_entry, a.place, a.run, a.url, a.host,
  {{time a.started_at}} AS started_at, a.outcome, o.name AS outcome_name, o.meaning, a.detail, a.visit, a.try_number,
  a.is_robots, a.is_request, a.is_answered, a.next, {{time a.retry_at}} AS retry_at, a.flags, a.remote, a.protocol,
  a.media_type, a.wire_bytes, a.body_bytes, a.dns_micros, a.connect_micros, a.tls_micros, a.first_byte_micros,
  a.body_micros, a.capture
FROM attempt a JOIN collection c ON c.id = a.collection LEFT JOIN outcome o ON o.number = a.outcome;

CREATE VIEW errors AS
SELECT * FROM attempts WHERE is_robots = 0 AND next <> 'waiting' AND (outcome >= 400 OR (outcome < 0 AND outcome <> -7));
