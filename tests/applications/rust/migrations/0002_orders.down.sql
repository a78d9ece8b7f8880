DROP VIEW rich;
ALTER TABLE people DROP COLUMN orders;
DROP TABLE orders;
