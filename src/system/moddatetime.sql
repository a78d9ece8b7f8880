CREATE FUNCTION moddatetime() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kind regtype;
BEGIN
  IF TG_LEVEL <> 'ROW' THEN
    RAISE EXCEPTION 'moddatetime: must be fired for row' USING ERRCODE = 'internal_error';
  ELSIF TG_WHEN <> 'BEFORE' THEN
    RAISE EXCEPTION 'moddatetime: must be fired before event' USING ERRCODE = 'internal_error';
  ELSIF TG_OP <> 'UPDATE' THEN
    RAISE EXCEPTION 'moddatetime: cannot process % events', TG_OP USING ERRCODE = 'internal_error';
  ELSIF TG_NARGS <> 1 THEN
    RAISE EXCEPTION 'moddatetime (%): A single argument was expected', TG_TABLE_NAME USING ERRCODE = 'internal_error';
  END IF;
  SELECT atttypid INTO kind FROM pg_catalog.pg_attribute
    WHERE attrelid = TG_RELID AND attname = TG_ARGV[0] AND attnum > 0 AND NOT attisdropped;
  IF kind IS NULL THEN
    RAISE EXCEPTION '"%" has no attribute "%"', TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = '09000';
  ELSIF kind NOT IN ('timestamp'::regtype, 'timestamptz'::regtype) THEN
    RAISE EXCEPTION 'attribute "%" of "%" must be type TIMESTAMP or TIMESTAMPTZ', TG_ARGV[0], TG_TABLE_NAME USING ERRCODE = '09000';
  END IF;
  RETURN pg_catalog.jsonb_populate_record(NEW, pg_catalog.jsonb_build_object(TG_ARGV[0], pg_catalog.now()));
END
$$
