DROP TABLE people;
DROP TYPE mood;
