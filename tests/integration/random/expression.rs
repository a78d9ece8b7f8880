//! What users write beside columns and operators: dates and intervals, numerics with scales, patterns, arrays, jsonb, CASE,
//! and writes that read other tables. Nothing here fails for some row and not for another, and nothing shows how many
//! digits a numeric has that may be grouped: which of 1.5 and 1.50 stands for both, PostgreSQL leaves open.

use super::from::From;
use super::statement::{Generator, Sql, Type};

/// Templates of each type: `{i}` is an int, `{t}` a text, `{d}` a date, `{n}` a numeric, `{s}` a timestamp, `{f}` a
/// float, `{b}` a condition, each an expression or, in capitals, a literal.
const INTS: &[&str] = &[
    // An infinite date has no year that is an integer.
    "extract(year FROM date '2024-02-29' + ({i} % 1000)::int)::int",
    "extract(dow FROM date '2024-02-29' + ({i} % 1000)::int)::int",
    "({d} - {D})",
    "position({T} IN {t})",
    "ascii({t})",
    "cardinality(string_to_array({t}, 'b'))",
    "(ARRAY[{i}::bigint, {i}::bigint, 3])[2]",
    "array_length(ARRAY[{t}, {T}], 1)",
    "array_position(ARRAY[{i}::bigint, 2, 3], {I}::bigint)",
    "CASE {i} WHEN {I} THEN 1 WHEN {I} THEN 2 END",
    "CASE WHEN {b} THEN {i}::bigint WHEN {b} THEN 7 END",
    "(jsonb_build_object('k', {i}) ->> 'k')::bigint",
    "jsonb_array_length(jsonb_build_array({i}, {t}, NULL))",
    "round({n})::bigint",
    "sign({n})::int",
    "({b})::int",
    "char_length(to_char({d}, 'FMMonth'))",
    "greatest({i}::bigint, {I}, 0)",
    "num_nulls({i}, {t}, {d})",
    "regexp_count({t}, '[ab]')",
    "length(normalize({t}, NFD))",
    "jsonb_array_length(jsonb_path_query_array(jsonb_build_array({i}, 1, NULL), '$[*] ? (@ > 0)'))",
];
const TEXTS: &[&str] = &[
    "to_char({d}, 'YYYY-MM-DD DDD IW')",
    "to_char({s}, 'HH24:MI:SS.US')",
    "to_char({n}, 'FM999990.00')",
    "lpad({t}, 4, 'xy')",
    "replace({t}, 'a', 'zz')",
    "split_part({t}, 'b', 1)",
    "regexp_replace({t}, '[ab]', '<\\&>', 'g')",
    "substring({t} from '[a-z]+')",
    "substring({t} from 2 for 1)",
    "overlay({t} placing 'QQ' from 2)",
    "initcap({t})",
    "trim(both 'a' from {t})",
    "left({t}, -1)",
    "right({t}, 2)",
    "translate({t}, 'ab', 'xy')",
    "md5({t})",
    "trim_scale({n})::text",
    "{f}::text",
    "{s}::text",
    "({b})::text",
    "to_jsonb({t})::text",
    "to_jsonb(trim_scale({n}))::text",
    "jsonb_build_array({i}, {t}, {b}, {d})::text",
    "jsonb_build_object('a', {i}, 'b', {t})::text",
    "(jsonb_build_object('a', jsonb_build_array({t}, {i})) #>> '{a,0}')",
    "array_to_string(ARRAY[{t}, {T}], ',', '*')",
    "ARRAY[{i}::bigint, NULL, {I}]::text",
    "array_append(ARRAY[{t}::text], {T})::text",
    "concat_ws('-', {t}, {i}, NULL)",
    "format('%s|%L|%5s', {t}, {i}, {T})",
    "quote_literal({t})",
    "(timestamp '2024-01-02 03:04:05' - ({d} + time '01:00'))::text",
    "(interval '1 mon 2 days' * ({I} % 100))::text",
    "to_char({s}, 'FMDay, DDth Month YYYY IYYY-IW HH12:MI AM')",
    "to_char({n}, 'S9,999.99')",
    "to_char({i}, '999PR')",
    "format('%-6s|%2$6s|%1$L', {t}, {i})",
    "jsonb_path_query_first(jsonb_build_object('a', coalesce({i}, 0)), '$.a.type()')::text",
    "make_interval(days => ({I} % 100)::int)::text",
    "concat_ws(',', VARIADIC ARRAY[{t}, {T}])",
    "convert_from(convert_to({t}, 'UTF8'), 'UTF8')",
];
const DATES: &[&str] = &[
    "({d} + 1)",
    "({d} - 30)",
    "({s})::date",
    "least({d}, {D})",
    "date_trunc('month', {d})::date",
    "({d} + interval '1 month')::date",
    "CASE WHEN {b} THEN {d} ELSE {D} END",
    "make_date(2024, 1 + abs({I} % 12), 28)",
];
const FLOATS: &[&str] = &[
    "abs({f})",
    "{i}::float8",
    "sqrt(abs({f}))",
    "({n})::float8",
    "greatest({f}, {F})",
];
const NUMERICS: &[&str] = &[
    "round({n} / 3, 6)",
    "round({n} / 0.07, 6)",
    "({n} - {N})",
    "({n} * {N})",
    "trunc({n}, 1)",
    "ceil({n})",
    "floor({n})",
    "mod({n}, 7)",
    "{n}::numeric(14,4)",
    "{i}::numeric",
    "abs({n})",
    "greatest({n}, {N})",
    "nullif({n}, {N})",
    "round({n}, -2)",
    "extract(epoch FROM {d})",
];
const TIMESTAMPS: &[&str] = &[
    "({s} + interval '1 month')",
    "({s} - interval '1 day 02:00')",
    "date_trunc('day', {s})",
    "date_trunc('quarter', {s})",
    "({d} + time '12:30')",
    "({d})::timestamp",
    "({d} - interval '1 year')",
    "CASE WHEN {b} THEN {s} END",
];
const CONDITIONS: &[&str] = &[
    "{t} ILIKE {PL}",
    "{t} LIKE {t}",
    "{t} NOT ILIKE {t}",
    "{t} LIKE {t} ESCAPE ''",
    "{t} NOT LIKE {PL}",
    "{t} LIKE 'z!%' ESCAPE '!'",
    "{t} LIKE 'z!_%' ESCAPE '!'",
    "{t} ~ {PR}",
    "{t} ~ {PR}",
    "{t} !~ {PR}",
    "{t} ~* {PR}",
    "{t} SIMILAR TO {PS}",
    "starts_with({t}, {T})",
    "{i} = ANY (ARRAY[{I}, {I}, NULL])",
    "{i} <> ALL (ARRAY[{I}, {I}])",
    "{t}::text = ANY (ARRAY[{T}, {T}])",
    "{n} IN ({N}, {N}, NULL)",
    "({i}, {t}) = ({I}, {T})",
    "({i}, {t}) < ({I}, {T})",
    "({d}, {i}) >= ({D}, {I})",
    "({i}, {t}) IN (({I}, {T}), ({I}, {T}))",
    "CASE WHEN {b} THEN {b} END",
    "CASE {i} WHEN {I} THEN {b} ELSE {b} END",
    "{i} BETWEEN SYMMETRIC {I} AND {I}",
    "({b}) IS UNKNOWN",
    "({b}) = ({b})",
    "coalesce({b}, true)",
    "jsonb_build_object('a', {i}) @> jsonb_build_object('a', {I})",
    "jsonb_build_object('a', {t}) ? 'a'",
    "ARRAY[{i}::bigint, 1] && ARRAY[{I}::bigint, 2]",
    "ARRAY[{i}::bigint, 1] @> ARRAY[{I}::bigint]",
    "ARRAY[{t}::text, {T}] < ARRAY[{T}, {T}]",
    "{d} < {s}",
    "{d} + 1 > {D}",
    "{s} + interval '1 day' <= {S}",
    "{d} BETWEEN {D} AND {D} + 366",
    "extract(month FROM {d}) IN (1, 2)",
    "{i} = {n}",
    "{i}::float8 < {f}",
    "{n} > {f}",
    "jsonb_build_object('a', {i}) @? '$.a ? (@ > 1)'",
    "jsonb_build_array({i}, {t}) @@ '$[0] > 1'",
    "{t} IS NFC NORMALIZED",
];

impl Generator {
    /// An expression from the templates of its type.
    pub(super) fn template(&mut self, from: From, ty: Type, depth: u32) -> Sql {
        let templates = match ty {
            Type::Int => INTS,
            Type::Text => TEXTS,
            Type::Date => DATES,
            Type::Float => FLOATS,
            Type::Numeric => NUMERICS,
            Type::Timestamp => TIMESTAMPS,
            Type::Bool => CONDITIONS,
        };
        let template = self.pick(templates);
        match ty {
            Type::Bool => self.filled(&format!("({template})"), from, depth),
            _ => self.filled(template, from, depth),
        }
    }

    /// An expression that may be shown.
    pub(super) fn shown(&mut self, from: From, ty: Type, depth: u32) -> Sql {
        let expression = self.expression(from, ty, depth);
        match ty {
            Type::Numeric => Sql::of("trim_scale({})", &[expression]),
            _ => expression,
        }
    }

    /// The template with its places filled.
    fn filled(&mut self, template: &str, from: From, depth: u32) -> Sql {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = template;
        while let Some(at) = rest.find('{') {
            let end = at + rest[at..].find('}').expect("a place ends");
            text.push_str(&rest[..at]);
            let depth = depth.saturating_sub(1);
            let part = match &rest[at + 1..end] {
                "PL" => Sql::new(self.pick(&["'a%'", "'%b'", "'z\\%%'", "'_'", "'A_'", "'%'", "'é%'"])),
                "PR" => Sql::new(self.pick(&[
                    "'^a'",
                    "'b$'",
                    "'[ab]+'",
                    "'^a|b'",
                    "'^(a|z)'",
                    "'^a.?$'",
                    "'^ab*'",
                    "'^z[%_]'",
                    "'^$'",
                    "'\\d'",
                    "'^\\w \\w$'",
                    "'^é'",
                    "'(a)(b)'",
                    "'a{1,2}'",
                    "'^[^a]'",
                ])),
                "PS" => Sql::new(self.pick(&["'a%'", "'(a|b)%'", "'_'", "'[ab]+'", "'z(%|_)'", "'a b'"])),
                "b" => self.condition(from, depth),
                name => match places(name) {
                    Some((ty, true)) => self.literal(ty),
                    Some((ty, false)) => self.expression(from, ty, depth),
                    None => Sql::new(&rest[at..=end]),
                },
            };
            text.push_str("{}");
            parts.push(part);
            rest = &rest[end + 1..];
        }
        text.push_str(rest);
        Sql::of(&text, &parts)
    }

    /// What groups are kept by.
    pub(super) fn having(&mut self, from: From) -> Sql {
        let template = self.pick(&[
            "count(*) > 1",
            "max({i}::bigint) IS NOT NULL",
            "min({t}) < {T}",
            "count(DISTINCT {t}) <> 2",
            "bool_or({b})",
            "sum({i}::bigint % 1000) > {I}",
        ]);
        self.filled(template, from, 1)
    }

    /// An aggregate of more than a count or an end, whose answer depends on no order.
    pub(super) fn wide_aggregate(&mut self, from: From) -> Sql {
        let template = self.pick(&[
            "(array_agg(DISTINCT {i}::bigint))::text",
            "sum({n})",
            "avg({n})",
            "avg({i}::bigint % 1000)",
            "stddev({i}::bigint % 1000)",
            "var_pop({n})",
            "bool_and({b})",
            "bool_or({b})",
            "every({b})",
            "min({s}) FILTER (WHERE {b})",
            "trim_scale(max({n}) FILTER (WHERE {b}))",
            "count(*) FILTER (WHERE {b})",
            "sum(DISTINCT {i}::bigint % 10)",
            "string_agg(DISTINCT {t}, '+')",
            "(array_agg(DISTINCT {d}))::text",
            "min({d})",
            "percentile_disc(0.5) WITHIN GROUP (ORDER BY {d})",
            "max(coalesce({t}, '-'))",
        ]);
        self.filled(template, from, 1)
    }

    /// A write that reads another table, meets conflicts, or returns what it wrote.
    pub(super) fn wide_write(&mut self) -> Sql {
        let templates = [
            "UPDATE t SET v = u.w, b = {b} FROM u WHERE u.k = t.v RETURNING t.a, t.s, t.d, u.k, t.v",
            "UPDATE t SET n = (SELECT max(u.k) FROM u WHERE u.a = t.a), ts = {s} WHERE {b} RETURNING a, s, d, trim_scale(n), {i}",
            "UPDATE t SET (v, x) = ({I}, {f}) WHERE {b} RETURNING a, s, d, v, x",
            "DELETE FROM t USING u WHERE u.k = t.v AND u.a > 5 RETURNING t.a, t.s, t.d, u.w",
            "DELETE FROM t WHERE a > 6 AND {b} RETURNING t.*, {t}",
            "DELETE FROM u WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.a = u.a AND t.s <> u.s) AND k > 5 RETURNING *",
            "INSERT INTO t (a, s, d, v) SELECT k % 9, coalesce(s, 'n'), date '2024-01-01', w FROM u WHERE k < 9 AND k > -9 ON CONFLICT DO NOTHING RETURNING a, s, d, v",
            "INSERT INTO u (k, a, s) SELECT DISTINCT v::bigint + 100000, v, s FROM t WHERE v IS NOT NULL AND d = (SELECT max(d) FROM t m WHERE m.v = t.v) AND s = (SELECT min(s) FROM t m WHERE m.v = t.v) AND a = (SELECT min(a) FROM t m WHERE m.v = t.v) ON CONFLICT (k) DO UPDATE SET w = coalesce(u.w, 0) + 1 RETURNING k, w",
            "INSERT INTO t (a, s, d, v) VALUES ({I}, {T}, {D}, {I}), (77, 'x', '2024-05-05', 1) ON CONFLICT (a, s, d) DO UPDATE SET v = excluded.v, n = t.n WHERE t.v IS DISTINCT FROM excluded.v RETURNING a, s, d, v, n",
            "INSERT INTO t (a, s, d, n) VALUES ({I}, {T}, {D}, {N}) ON CONFLICT (a, s, d) DO UPDATE SET n = t.n / 2, ts = DEFAULT RETURNING *",
            "WITH more AS (SELECT a, count(*) AS c FROM u GROUP BY a) UPDATE t SET v = c FROM more WHERE more.a = t.a AND {b} RETURNING t.a, t.s, t.d, t.v",
            "WITH gone AS (DELETE FROM u WHERE k > 3 AND a > 2 RETURNING *) INSERT INTO t (a, s, d) SELECT (k % 100)::int, coalesce(s, 'n'), date '2025-01-01' FROM gone ON CONFLICT DO NOTHING RETURNING a, s, d",
            "WITH one AS (UPDATE t SET v = {I} WHERE a > 2 RETURNING a, s, d, v), two AS (UPDATE t SET v = 0, x = {f} WHERE {b} RETURNING a) SELECT * FROM one",
            "WITH one AS (UPDATE t SET v = (v % 1000) + 1 WHERE {b} RETURNING a), two AS (DELETE FROM t WHERE a > 5 RETURNING a) SELECT count(*), (SELECT count(*) FROM t) FROM one",
            "WITH one AS (UPDATE u SET w = 7 WHERE k > 2 RETURNING k, w) UPDATE t SET v = one.w FROM one WHERE one.k = t.v AND {b} RETURNING t.a, t.s, t.d, t.v",
            "WITH made AS (INSERT INTO u (k, a) VALUES (200001, {I}), (200002, {I}) ON CONFLICT (k) DO UPDATE SET a = excluded.a RETURNING k, a), gone AS (DELETE FROM u WHERE k > 200000) SELECT made.k, made.a, (SELECT count(*) FROM u WHERE u.k > 200000) FROM made",
            "WITH least AS (SELECT a, min(k) AS k FROM u GROUP BY a), gone AS (DELETE FROM u USING least WHERE u.k = least.k AND u.k > 5 RETURNING u.k) SELECT least.a, least.k, gone.k FROM least LEFT JOIN gone ON gone.k = least.k",
            "WITH moved AS (UPDATE t SET a = a + 10 WHERE a > 5 AND {b} RETURNING a, s, d) DELETE FROM t WHERE a > 4 RETURNING a, s, d",
        ];
        let template = self.pick(&templates);
        self.filled(template, From::T, 1)
    }
}

/// The type that a place of a template asks for, and whether it is to be a literal.
fn places(name: &str) -> Option<(Type, bool)> {
    let ty = match name.to_ascii_lowercase().as_str() {
        "i" => Type::Int,
        "t" => Type::Text,
        "d" => Type::Date,
        "n" => Type::Numeric,
        "s" => Type::Timestamp,
        "f" => Type::Float,
        _ => return None,
    };
    Some((ty, name.chars().all(char::is_uppercase)))
}
