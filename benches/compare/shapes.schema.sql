CREATE TABLE customer (id bigint PRIMARY KEY, name text NOT NULL, city int NOT NULL, document jsonb NOT NULL);
CREATE TABLE shop_order (
  id bigint PRIMARY KEY, customer bigint NOT NULL, amount int NOT NULL, placed int NOT NULL DEFAULT 0, note text);
CREATE INDEX shop_order_customer ON shop_order (customer);
CREATE INDEX shop_order_placed ON shop_order (placed);
CREATE TABLE item (shop_order bigint, line int, quantity int NOT NULL, PRIMARY KEY (shop_order, line));
CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
CREATE TABLE change (id bigint PRIMARY KEY, n bigint NOT NULL);
CREATE TABLE written (id bigint PRIMARY KEY, n bigint NOT NULL, note text);
CREATE TABLE indexed (id bigint PRIMARY KEY, n bigint NOT NULL, note text);
CREATE INDEX ON indexed (n);
CREATE INDEX ON indexed (note);
CREATE TABLE doomed (id bigint PRIMARY KEY, n bigint NOT NULL);
CREATE FUNCTION sum_of_odd(last int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n int := 0; total bigint := 0;
BEGIN
  WHILE n < last LOOP
    n := n + 1;
    CONTINUE WHEN n % 2 = 0;
    total := total + n;
  END LOOP;
  RETURN total;
END $$;
CREATE FUNCTION next_of(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN n + 1; END $$;
