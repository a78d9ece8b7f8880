CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE people (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name VARCHAR(40) NOT NULL UNIQUE,
    feels mood NOT NULL DEFAULT 'ok',
    born DATE,
    paid NUMERIC(12, 2) NOT NULL DEFAULT 0 CHECK (paid >= 0),
    tags TEXT[] NOT NULL DEFAULT '{}',
    doc JSONB,
    uid UUID NOT NULL DEFAULT gen_random_uuid(),
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX people_lower ON people (lower(name));
