CREATE SCHEMA passhat_store;

-- What one batch brought.
CREATE TABLE passhat_store.sources (
	source VARCHAR, format VARCHAR, kind VARCHAR, hash VARCHAR, size BIGINT, "rows" BIGINT, duplicates BIGINT,
	rejects BIGINT, runs BIGINT, ingested_at TIMESTAMPTZ, options VARCHAR, warnings VARCHAR, passhat VARCHAR,
	batch VARCHAR, number BIGINT
);

-- Runs taken out of batches that live on.
CREATE TABLE passhat_store.masked (batch VARCHAR, suite VARCHAR, run_id VARCHAR);

-- Runs whose counts come from their trials and not from the stored roll-ups.
CREATE TABLE passhat_store.live_runs (suite VARCHAR, run_id VARCHAR);

-- Which batches hold a run, and when its trials' runs began.
CREATE TABLE passhat_store.run_batches (batch VARCHAR, suite VARCHAR, run_id VARCHAR, run_at_min TIMESTAMPTZ, run_at_max TIMESTAMPTZ);

CREATE TABLE passhat_store.reject_files (path VARCHAR, batch VARCHAR);

CREATE TABLE passhat_store.labels (
	suite VARCHAR, task_id VARCHAR, shape VARCHAR, risk VARCHAR, difficulty VARCHAR, weight DOUBLE, kind VARCHAR,
	"owner" VARCHAR
);

CREATE TABLE passhat_store.prices (model VARCHAR, "from" DATE, input DOUBLE, output DOUBLE);

CREATE VIEW sources AS
SELECT source, format, kind, hash, size, "rows", duplicates, rejects, runs, ingested_at,
	options::JSON AS options, warnings::JSON AS warnings, passhat, batch, number
FROM passhat_store.sources;

CREATE VIEW labels AS
SELECT suite, task_id, shape, risk, difficulty, weight, kind, "owner" FROM passhat_store.labels;

CREATE VIEW prices AS
SELECT model, "from", input, output FROM passhat_store.prices;

-- From when until when a price holds. A price without a day holds from the
-- beginning until the first one with a day.
CREATE VIEW passhat_store.price_spans AS
SELECT model, input, output, coalesce("from", '-infinity'::DATE)::TIMESTAMPTZ AS since,
	lead("from", 1, 'infinity'::DATE) OVER (PARTITION BY model ORDER BY "from" NULLS FIRST)::TIMESTAMPTZ AS until
FROM passhat_store.prices;
