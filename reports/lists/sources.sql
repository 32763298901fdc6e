-- Every source in the store, in the order of commit.
SELECT source, format, hash, "rows", duplicates, rejects, runs, ingested_at, kind, size, options, warnings, passhat, batch, number
FROM sources
ORDER BY number
