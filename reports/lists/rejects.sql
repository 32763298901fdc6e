-- Every row that could not be read.
SELECT *
FROM rejects
ORDER BY ALL
