-- title: Reliability per group and k
-- placeholder
SELECT 1 AS k
