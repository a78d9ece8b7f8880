//! The rules of the source that no compiler checks: reads `src/**/*.rs` and says `file:line: what to do`.
//! A unit test only; nothing calls it, and it must not know what any module does (but for `docs`, which prints two files of `docs/`
//! from the tables that they are about).
//!
//! Invariants it holds up:
//! 1. Modules depend downward only (`LAYERS`), and the large libraries stay in their layer (`LIBRARIES`).
//! 2. Every file opens with `//!` and has at most `LINES_MAX` lines before its tests, a function at most `FUNCTION_LINES_MAX` (but for
//!    those of `LONG_FUNCTIONS`).
//! 3. No file names what is defined in another file that names, perhaps over others, what is defined in it, nor a folder so
//!    another folder (`circles`).
//! 4. Who makes plans asks the catalog by what notes the answer (`PLAN_MAKERS`).
//! 5. What is public is documented; what nobody uses the compiler finds, for `lib.rs` lists what leaves the crate.
//! 6. Nothing unfinished, ignored or vaguely named is on the main branch.

mod circles;
mod code;
mod docs;
mod functions;
mod undocumented;
use std::path::{Path, PathBuf};

use circles::{SourceFile, circles, folder_circles};
use code::{code_only, lines_before_tests};
use functions::{FUNCTION_LINES_MAX, long_functions};
use undocumented::undocumented;

/// The modules in the order of dependency: each may use only what stands before it.
const LAYERS: [&str; 21] = [
    "error",
    "types",
    "copy",
    "parse",
    "codec",
    "store",
    "txn",
    "catalog",
    "table",
    "plan",
    "system",
    "functions",
    "tree",
    "scan",
    "logical",
    "operators",
    "query",
    "sql",
    "session",
    "wire",
    "load",
];

/// Path prefixes of libraries, and the files (by the start of their path under `src/`) that may name them.
const LIBRARIES: [(&str, &[&str]); 7] = [
    ("pgwire", &["wire/", "system/scram.rs"]),
    (
        "datafusion_",
        &[
            "system/datafusion_error.rs",
            "system/pg_catalog/mod.rs",
            "system/spill.rs",
            "system/statement_memory.rs",
            "functions/bound_function.rs",
            "functions/evaluate.rs",
            "functions/value_array.rs",
            "operators/",
        ],
    ),
    ("sled", &["store/sled/"]),
    ("lsm_tree", &["store/fjall/"]),
    ("sqlparser", &["parse/", "query/", "sql/"]),
    ("tokio::net", &["wire/", "load/"]),
    ("anyhow", &["main.rs"]),
];

/// Where plans are made: what is asked of the catalog there is noted, so that a plan is dropped with what it rests on.
const PLAN_MAKERS: [&str; 2] = ["query/", "sql/dml/"];

/// Code that says the work is not done, or that a test does not run.
const UNFINISHED: [(&str, &str); 4] = [
    (
        "unimplemented!",
        "write the code, or return Error::FeatureNotSupported",
    ),
    ("todo!", "write the code, or return Error::FeatureNotSupported"),
    (
        "#[ignore",
        "make the test fast enough to run always, or delete it",
    ),
    ("#[should_panic", "return an error and assert on it"),
];

/// File names that say nothing.
const VAGUE_NAMES: [&str; 8] = [
    "utils", "util", "common", "helpers", "helper", "manager", "misc", "shared",
];

/// Lines a file may have before its `#[cfg(test)]` module.
const LINES_MAX: usize = 600;

/// Functions that are longer than others may be, by file. None is added: whoever changes one splits it and takes it out.
const LONG_FUNCTIONS: &[(&str, &str)] = &[
    ("codec/arbitrary.rs", "values_of"),
    ("error/report.rs", "detail"),
    ("error/report.rs", "hint"),
    ("error/report.rs", "sqlstate"),
    ("operators/dependent_join_run.rs", "join"),
    ("parse/command_reader.rs", "set"),
    ("parse/tree_fields/definition.rs", "alter_operation"),
    ("parse/tree_fields/definition.rs", "create_table"),
    ("parse/tree_fields/definition.rs", "definition"),
    ("parse/tree_fields/expression.rs", "expression"),
    ("parse/tree_fields/query.rs", "table_factor"),
    ("parse/tree_fields/write.rs", "write_statement"),
    ("plan/readable.rs", "describe_range"),
    ("query/aggregate.rs", "accumulation"),
    ("query/finish.rs", "finish"),
    ("query/grouping.rs", "group"),
    ("query/operator.rs", "unify"),
    ("session/command.rs", "run_command"),
    ("session/cursors.rs", "declare"),
    ("store/damage.rs", "plant"),
    ("system/catalog_version/cells.rs", "column"),
    ("types/convert.rs", "convert"),
    ("types/text_input.rs", "parse"),
];

/// Everything wrong with one file. `path` is relative to `src/`, with forward slashes.
fn findings(path: &str, text: &str) -> Vec<String> {
    let code = code_only(text);
    let mut found = Vec::new();
    check_shape(path, text, &mut found);
    check_words(text, &code, &mut found);
    check_libraries(path, &code, &mut found);
    check_layers(path, &code, &mut found);
    check_lookups(path, &code, &mut found);
    found.sort();
    found
        .into_iter()
        .map(|(line, what)| format!("src/{path}:{line}: {what}"))
        .collect()
}

/// First line, length and name.
fn check_shape(path: &str, text: &str, found: &mut Vec<(usize, String)>) {
    if !text.starts_with("//!") {
        found.push((
            1,
            "open with `//!`: what the file is for, who calls it, what it must not know".to_string(),
        ));
    }
    let lines = lines_before_tests(path, text);
    if lines > LINES_MAX {
        let advice = format!("split the file: {lines} lines before its tests, at most {LINES_MAX}");
        found.push((LINES_MAX + 1, advice));
    }
    for part in path.trim_end_matches(".rs").split('/') {
        if VAGUE_NAMES.contains(&part) {
            found.push((1, format!("name the file after what it holds, not `{part}`")));
        }
    }
}

/// Unfinished work.
fn check_words(text: &str, code: &str, found: &mut Vec<(usize, String)>) {
    for (number, line) in numbered(text) {
        if line.contains(concat!("TO", "DO")) {
            found.push((number, "do it now, or open an issue".to_string()));
        }
    }
    for (number, line) in numbered(code) {
        for (word, advice) in UNFINISHED {
            if line.contains(word) {
                found.push((number, format!("`{word}`: {advice}")));
            }
        }
    }
}

/// Libraries outside their layer.
fn check_libraries(path: &str, code: &str, found: &mut Vec<(usize, String)>) {
    for (library, homes) in LIBRARIES {
        if homes.iter().any(|home| path.starts_with(home)) {
            continue;
        }
        for (number, line) in numbered(code) {
            if names_library(line, library) {
                found.push((
                    number,
                    format!("`{library}` may be named only in {}", homes.join(", ")),
                ));
            }
        }
    }
}

/// Whether a path in the line starts with the library (and not with a module of ours of the same name); with one of several, where the
/// name ends with `_`.
fn names_library(line: &str, library: &str) -> bool {
    line.match_indices(library).any(|(at, _)| {
        let before = line[..at].trim_end();
        let mut after = line[at + library.len()..].trim_start();
        if library.ends_with('_') {
            after = after.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        }
        let starts_path = match before.strip_suffix("::") {
            Some(root) => !root.ends_with(|c: char| c.is_alphanumeric() || c == '_'),
            None => !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$'),
        };
        let is_use = before.ends_with("use") || before.ends_with("extern crate");
        starts_path && (after.starts_with("::") || (is_use && after.starts_with([';', ' '])))
    })
}

/// Questions to the catalog that nobody notes.
fn check_lookups(path: &str, code: &str, found: &mut Vec<(usize, String)>) {
    if !PLAN_MAKERS.iter().any(|folder| path.starts_with(folder)) {
        return;
    }
    for (number, line) in numbered(code) {
        let mut after = line
            .match_indices(".catalog")
            .map(|(at, word)| &line[at + word.len()..]);
        let asks = after.any(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        if asks && !line.contains("CatalogWriter::begin(") {
            let advice = "ask by `StatementContext::relation` and its like: a plan depends on the answer";
            found.push((number, advice.to_string()));
        }
    }
}

/// Upward uses of `crate::`.
fn check_layers(path: &str, code: &str, found: &mut Vec<(usize, String)>) {
    let own = path.split('/').next().unwrap_or(path).trim_end_matches(".rs");
    let Some(own_level) = LAYERS.iter().position(|layer| *layer == own) else {
        return;
    };
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let line = 1 + code[..at].matches('\n').count();
        for name in top_names(&code[at + "crate::".len()..]) {
            match LAYERS.iter().position(|layer| *layer == name) {
                Some(level) if level <= own_level => {}
                Some(_) => found.push((line, format!("`{own}` must not use `{name}`: it stands above it"))),
                None if name == "Error" || name == "Result" => {}
                None => found.push((line, format!("write the module that `{name}` comes from"))),
            }
        }
    }
}

/// The first segments of what follows `crate::`: one name, or each name of a `{…}` group.
fn top_names(rest: &str) -> Vec<&str> {
    let first_name = |text: &'_ str| {
        text.find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(text.len())
    };
    let Some(group) = rest.strip_prefix('{') else {
        return vec![&rest[..first_name(rest)]];
    };
    let mut names = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let item = group[start..at].trim();
                names.extend(Some(&item[..first_name(item)]).filter(|name| !name.is_empty()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

/// Lines with their numbers from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}

/// Every Rust file under a folder, sorted.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(folder).expect("src can be listed");
    for entry in entries.map(|entry| entry.expect("src can be listed").path()) {
        if entry.is_dir() {
            files.extend(rust_files(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            files.push(entry);
        }
    }
    files.sort();
    files
}

/// Every file of `src`, its path relative to it.
fn source_files() -> Vec<SourceFile> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let read = |file: PathBuf| {
        let path = file.strip_prefix(&source).expect("a file of src");
        SourceFile {
            path: path.to_string_lossy().replace('\\', "/"),
            text: std::fs::read_to_string(&file).expect("a source file is readable UTF-8"),
        }
    };
    let files: Vec<SourceFile> = rust_files(&source).into_iter().map(read).collect();
    assert!(
        files.len() > 20,
        "only {} files found under {}",
        files.len(),
        source.display()
    );
    files
}

#[test]
fn the_source_is_tidy() {
    let files = source_files();
    let found: Vec<String> = files
        .iter()
        .flat_map(|file| findings(&file.path, &file.text))
        .collect();
    assert!(found.is_empty(), "{} to mend:\n{}", found.len(), found.join("\n"));
}

#[test]
fn no_files_stand_in_a_circle() {
    let found = circles(&source_files());
    assert!(found.is_empty(), "{} to mend:\n{}", found.len(), found.join("\n"));
}

#[test]
fn no_folders_stand_in_a_circle() {
    let found = folder_circles(&source_files());
    assert!(found.is_empty(), "{} to mend:\n{}", found.len(), found.join("\n"));
}

#[test]
fn what_is_public_is_documented() {
    let mut found = Vec::new();
    for SourceFile { path, text } in source_files() {
        let lines = undocumented(&path, &text).into_iter();
        found.extend(lines.map(|line| format!("src/{path}:{line}: say what it is")));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn functions_fit_a_screen() {
    let mut found = Vec::new();
    let mut known = LONG_FUNCTIONS.to_vec();
    for SourceFile { path, text } in source_files() {
        for (name, line, length) in long_functions(&path, &text) {
            match known
                .iter()
                .position(|(file, known)| (*file, *known) == (&path, &name))
            {
                Some(at) => drop(known.swap_remove(at)),
                None => found.push(format!(
                    "src/{path}:{line}: split `{name}`: {length} lines, at most {FUNCTION_LINES_MAX}"
                )),
            }
        }
    }
    let short = known.iter();
    found.extend(short.map(|(file, name)| format!("src/{file}: take `{name}` out of LONG_FUNCTIONS")));
    assert!(found.is_empty(), "{} to mend:\n{}", found.len(), found.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::findings;

    /// Asserts that a file has exactly one finding, at this line, containing this text.
    #[track_caller]
    fn fires(path: &str, text: &str, line: usize, what: &str) {
        let found = findings(path, text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with(&format!("src/{path}:{line}: ")) && found[0].contains(what),
            "{found:?}"
        );
    }

    #[track_caller]
    fn passes(path: &str, text: &str) {
        assert_eq!(findings(path, text), Vec::<String>::new());
    }

    #[test]
    fn upward_uses_fire() {
        fires(
            "store/mod.rs",
            "//! x\nuse crate::catalog::TableDef;\n",
            2,
            "`store` must not use `catalog`",
        );
        fires(
            "error.rs",
            "//! x\nfn f(x: crate::types::Value) {}\n",
            2,
            "must not use `types`",
        );
        fires(
            "plan/a.rs",
            "//! x\nuse crate::{\n  codec::{key, row},\n  logical::Scan,\n};\n",
            2,
            "must not use `logical`",
        );
        fires("plan/a.rs", "//! x\nuse crate::Server;\n", 2, "write the module");
        passes(
            "plan/a.rs",
            "//! x crate::wire\nuse crate::{Error, plan::Predicate, codec::{key, row}};\npub(crate) fn f() {}\n",
        );
        passes("main.rs", "//! x\nuse crate::wire::Server;\n");
    }

    #[test]
    fn questions_to_the_catalog_that_nobody_notes_fire() {
        let asks = "//! x\nfn f(ctx: &C) {\n  ctx.catalog\n    .relation(None);\n}\n";
        fires("query/from.rs", asks, 3, "StatementContext::relation");
        fires("sql/dml/target.rs", asks, 3, "StatementContext::relation");
        passes("sql/ddl/drop.rs", asks);
        passes(
            "sql/dml/target.rs",
            "//! x\nfn f() { CatalogWriter::begin(&ctx.txn, &ctx.catalog); self.catalog_relation() }\n",
        );
    }

    #[test]
    fn libraries_outside_their_layer_fire() {
        fires(
            "session/mod.rs",
            "//! x\nuse pgwire::api::Type;\n",
            2,
            "`pgwire` may be named only in wire/, system/scram.rs",
        );
        fires(
            "plan/mod.rs",
            "//! x\nfn f(e: &datafusion_expr::Expr) {}\n",
            2,
            "datafusion_",
        );
        fires("store/mod.rs", "//! x\nuse ::sled::Db;\n", 2, "sled");
        fires("wire/mod.rs", "//! x\nuse sqlparser;\n", 2, "sqlparser");
        fires(
            "session/mod.rs",
            "//! x\nuse tokio::net::TcpStream;\n",
            2,
            "tokio::net",
        );
        fires(
            "wire/mod.rs",
            "//! x\nfn f() -> anyhow::Result<()> {}\n",
            2,
            "anyhow",
        );
        passes(
            "store/mod.rs",
            "//! x: sled::Db\nuse self::sled::SledEngine;\nlet name = \"sled::Db\";\nlet sled = 1;\n",
        );
        passes("store/sled/mod.rs", "//! x\nuse sled::Db;\n");
    }

    #[test]
    fn shape_fires() {
        fires("plan/mod.rs", "use std::fmt;\n", 1, "open with `//!`");
        fires(
            "plan/mod.rs",
            &format!("//! x\n{}", "let x;\n".repeat(600)),
            601,
            "split the file: 601 lines",
        );
        passes(
            "plan/mod.rs",
            &format!(
                "//! x\n#[cfg(test)]\nmod tests {{\n{}}}\n",
                "let x;\n".repeat(700)
            ),
        );
        passes("plan/tests.rs", &format!("//! x\n{}", "let x;\n".repeat(700)));
        fires("logical/utils.rs", "//! x\n", 1, "not `utils`");
        fires("logical/helpers/mod.rs", "//! x\n", 1, "not `helpers`");
    }

    #[test]
    fn unfinished_work_fires() {
        fires(
            "plan/mod.rs",
            "//! x\nfn f() { unimplemented!() }\n",
            2,
            "write the code",
        );
        fires("plan/mod.rs", "//! x\nfn f() { todo!() }\n", 2, "write the code");
        fires(
            "plan/mod.rs",
            concat!("//! x\n// TO", "DO: later\n"),
            2,
            "do it now",
        );
        fires(
            "plan/mod.rs",
            "//! x\n#[test]\n#[ignore]\nfn f() {}\n",
            3,
            "#[ignore",
        );
        fires(
            "plan/mod.rs",
            "//! x\n#[should_panic(expected = \"x\")]\nfn f() {}\n",
            2,
            "#[should_panic",
        );
        passes(
            "plan/mod.rs",
            "//! x\nlet text = r#\"todo!() \"quoted\" \"#; let c = '\"'; let d = '\\''; fn f<'a>(s: &'a str) {}\n",
        );
    }
}
