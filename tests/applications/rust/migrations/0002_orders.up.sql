CREATE TABLE orders (
    id SERIAL PRIMARY KEY,
    person BIGINT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    amount INT NOT NULL,
    note TEXT
);
CREATE INDEX orders_person ON orders (person);
ALTER TABLE people ADD COLUMN orders INT NOT NULL DEFAULT 0;
CREATE VIEW rich AS SELECT p.name, sum(o.amount) AS total FROM people p JOIN orders o ON o.person = p.id GROUP BY p.name;
DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM people) THEN INSERT INTO people (name) VALUES ('first'); END IF; END $$;
