//! Files that stand in a circle: a file names an item defined in another, and that one, perhaps over others, one of the
//! first. Whoever changes one of them must have read all of them. So with folders, which count as one with all that is in
//! them. `tidy` calls this; it knows nothing of layers.
//!
//! It reads paths as the compiler resolves them, over `use` and re-exports, to the file that *defines* the item: a
//! `mod.rs` that only declares and re-exports is in no circle. One that holds its folder's contract and the functions
//! that enter it names the files below, and they it: that much is no circle. For whoever enters the folder from outside
//! the files below count as named with it.
//!
//! Methods are called without a path, so a circle over a method alone, its type defined elsewhere, is not seen.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{code_only, lines_before_tests};

/// The folder whose files hold one recursive type: an expression holds relations, and these hold expressions.
const FAMILY: &str = "tree";

/// A file of `src`.
pub(super) struct SourceFile {
    /// Relative to `src/`, with forward slashes.
    pub(super) path: String,
    pub(super) text: String,
}

/// A module by the names on the way to it; the crate's root is empty.
type ModulePath = Vec<String>;

/// What one file says, its tests left out.
struct Module {
    /// Of its file.
    path: String,
    /// Names of the items it defines, submodules not among them.
    items: BTreeSet<String>,
    /// Names it takes from elsewhere by `use`, and the paths they stand for.
    imports: BTreeMap<String, Vec<String>>,
    /// Every path in it, those of `use` too, and the line it stands in.
    uses: Vec<(Vec<String>, usize)>,
}

/// Where a path leads: a module, or an item of the module.
enum Place {
    Module(ModulePath),
    Item(ModulePath),
}

/// One text for each circle: its files, and the uses that go from one to the next.
pub(super) fn circles(files: &[SourceFile]) -> Vec<String> {
    let modules = read_modules(files);
    let uses = uses_between(&modules);
    let nodes: Vec<&ModulePath> = uses.keys().copied().collect();
    let number = |module: &&ModulePath| nodes.binary_search(module).expect("every module has its uses");
    let edges: Vec<Vec<usize>> = uses
        .values()
        .map(|named| named.keys().map(number).collect())
        .collect();
    let text = |members: Vec<usize>| {
        let members = members.into_iter().map(|member| nodes[member]).collect();
        circle_text(&modules, &uses, &members)
    };
    circles_of(&edges).into_iter().map(text).collect()
}

/// One text for each circle of what stands in one folder, files and folders with all that is in them.
pub(super) fn folder_circles(files: &[SourceFile]) -> Vec<String> {
    let modules = read_modules(files);
    let uses = uses_written(&modules);
    let folders: BTreeSet<&[String]> = modules
        .keys()
        .flat_map(|module| (0..module.len()).map(|length| &module[..length]))
        .collect();
    folders
        .into_iter()
        .flat_map(|folder| circles_in(folder, &uses))
        .collect()
}

/// The circles of what stands in this folder.
fn circles_in(folder: &[String], uses: &Uses<'_>) -> Vec<String> {
    let member = |module: &ModulePath| match module.strip_prefix(folder) {
        Some([name, ..]) => Some(name.clone()),
        _ => None,
    };
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (own, others) in uses {
        if let Some(own) = member(own) {
            let others = others.keys().filter_map(|other| member(other));
            let others: Vec<String> = others.filter(|other| *other != own).collect();
            named.entry(own).or_default().extend(others);
        }
    }
    let names: Vec<&String> = named.keys().collect();
    let number = |name: &String| names.binary_search(&name).expect("every member has its uses");
    let edges: Vec<Vec<usize>> = named
        .values()
        .map(|others| others.iter().map(number).collect())
        .collect();
    let text = |members: Vec<usize>| {
        let members: Vec<&str> = members.iter().map(|member| names[*member].as_str()).collect();
        format!("in a circle in src/{}: {}", folder.join("/"), members.join(", "))
    };
    circles_of(&edges).into_iter().map(text).collect()
}

/// The sets of several nodes each of which can be reached from each other.
fn circles_of(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let reached: Vec<Vec<bool>> = (0..edges.len()).map(|start| reachable(edges, start)).collect();
    let circle = |start: usize| -> Vec<usize> {
        let members = (0..edges.len()).filter(|other| reached[start][*other] && reached[*other][start]);
        members.collect()
    };
    (0..edges.len())
        .map(|start| (start, circle(start)))
        .filter(|(start, members)| members.len() > 1 && members[0] == *start)
        .map(|(_, members)| members)
        .collect()
}

/// For each module those it names an item of, and the first such use.
type Uses<'a> = BTreeMap<&'a ModulePath, BTreeMap<&'a ModulePath, (&'a [String], usize)>>;

/// The uses that make circles: those of a `mod.rs` go out of its folder, and whoever enters a folder by its `mod.rs`
/// names what that names below.
fn uses_between(modules: &BTreeMap<ModulePath, Module>) -> Uses<'_> {
    let written = uses_written(modules);
    let mut uses = Uses::new();
    for (own, named) in &written {
        let outside = named.iter().filter(|(other, _)| !other.starts_with(own));
        let counted = uses.entry(own).or_default();
        for (other, how) in outside {
            counted.entry(other).or_insert(*how);
            if !own.starts_with(other) {
                counted.extend(
                    named_below(&written, other)
                        .into_iter()
                        .map(|below| (below, *how)),
                );
            }
        }
    }
    uses
}

/// The uses as they are written.
fn uses_written(modules: &BTreeMap<ModulePath, Module>) -> Uses<'_> {
    let mut uses = Uses::new();
    let family = [FAMILY.to_string()];
    for (own, module) in modules {
        let named = uses.entry(own).or_default();
        for (path, line) in &module.uses {
            if let Some(Place::Item(other)) = resolve(modules, own, path, 0)
                && other != *own
                && !(own.starts_with(&family) && other.starts_with(&family))
                && let Some((other, _)) = modules.get_key_value(&other)
            {
                named.entry(other).or_insert((path.as_slice(), *line));
            }
        }
    }
    uses
}

/// The files below a `mod.rs` that it names, and those that they as `mod.rs` name below them.
fn named_below<'a>(written: &Uses<'a>, folder: &ModulePath) -> Vec<&'a ModulePath> {
    let below = written[folder].keys().filter(|other| other.starts_with(folder));
    below
        .flat_map(|other| named_below(written, other).into_iter().chain([*other]))
        .collect()
}

/// Which nodes can be reached from `start` over one edge or more.
fn reachable(edges: &[Vec<usize>], start: usize) -> Vec<bool> {
    let mut reached = vec![false; edges.len()];
    let mut left = vec![start];
    while let Some(node) = left.pop() {
        for next in &edges[node] {
            if !std::mem::replace(&mut reached[*next], true) {
                left.push(*next);
            }
        }
    }
    reached
}

fn circle_text(
    modules: &BTreeMap<ModulePath, Module>,
    uses: &Uses<'_>,
    members: &BTreeSet<&ModulePath>,
) -> String {
    let file = |module: &ModulePath| format!("src/{}", modules[module].path);
    let names: Vec<String> = members.iter().map(|module| file(module)).collect();
    let mut text = format!(
        "in a circle: {}; give what they share a file of its own",
        names.join(", ")
    );
    for module in members {
        for (other, (path, line)) in uses[*module].iter().filter(|(other, _)| members.contains(*other)) {
            text += &format!(
                "\n    {}:{line}: `{}` of {}",
                file(module),
                path.join("::"),
                file(other)
            );
        }
    }
    text
}

/// Where a path in `own` leads; None when it leaves the crate. `depth` counts the imports followed.
fn resolve(
    modules: &BTreeMap<ModulePath, Module>,
    own: &ModulePath,
    path: &[String],
    depth: usize,
) -> Option<Place> {
    const IMPORTS_MAX: usize = 16;
    let mut at = own.clone();
    for name in path {
        match name.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => {
                at.pop()?;
            }
            name => {
                let module = modules.get(&at)?;
                at.push(name.to_string());
                if modules.contains_key(&at) {
                    continue;
                }
                at.pop();
                if module.items.contains(name) {
                    return Some(Place::Item(at));
                }
                let import = module.imports.get(name).filter(|_| depth < IMPORTS_MAX)?;
                match resolve(modules, &at, import, depth + 1)? {
                    Place::Module(module) => at = module,
                    item @ Place::Item(_) => return Some(item),
                }
            }
        }
    }
    Some(Place::Module(at))
}

/// The modules of the files, those that only tests have left out.
fn read_modules(files: &[SourceFile]) -> BTreeMap<ModulePath, Module> {
    let mut modules = BTreeMap::new();
    let mut of_tests: Vec<ModulePath> = Vec::new();
    for file in files {
        let own = module_path(&file.path);
        let lines = lines_before_tests(&file.path, &file.text);
        let text: String = file.text.split_inclusive('\n').take(lines).collect();
        let mut reader = Reader::new(&code_only(&text), &file.path);
        reader.read();
        let test_modules = reader.test_modules.into_iter();
        of_tests.extend(test_modules.map(|name| own.iter().cloned().chain([name]).collect()));
        modules.insert(own, reader.module);
    }
    modules.retain(|path, _| !of_tests.iter().any(|test| path.starts_with(test)));
    modules
}

/// `sql/ddl/mod.rs` is `sql::ddl`, `lib.rs` the root.
fn module_path(path: &str) -> ModulePath {
    let stem = path.trim_end_matches(".rs");
    let names = stem.split('/').filter(|name| !matches!(*name, "mod" | "lib"));
    names.map(str::to_string).collect()
}

/// Reads the tokens of one file.
struct Reader {
    /// Names, and every other character that is no space alone, with their lines; `::` is one token.
    tokens: Vec<(String, usize)>,
    at: usize,
    module: Module,
    /// Modules declared for tests alone.
    test_modules: Vec<String>,
}

impl Reader {
    fn new(code: &str, path: &str) -> Reader {
        let module = Module {
            path: path.to_string(),
            items: BTreeSet::new(),
            imports: BTreeMap::new(),
            uses: Vec::new(),
        };
        let (tokens, at, test_modules) = (tokens(code), 0, Vec::new());
        Reader {
            tokens,
            at,
            module,
            test_modules,
        }
    }

    fn token(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", |(token, _)| token)
    }

    /// Reads all: items at depth 0, `use` and other paths at every depth.
    fn read(&mut self) {
        let mut depth = 0usize;
        while self.at < self.tokens.len() {
            match self.token(0) {
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                "use" => {
                    self.at += 1;
                    self.read_use(&[]);
                    continue;
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" if depth == 0 => {
                    self.define();
                }
                "mod" => self.declare_module(),
                name if is_name(name) => self.read_path(),
                _ => {}
            }
            self.at += 1;
        }
    }

    /// The item whose keyword stands here: the next name, `mut` and `fn` of `const fn` not counted.
    fn define(&mut self) {
        let name = self.token(1).to_string();
        if !matches!(name.as_str(), "fn" | "mut" | "unsafe" | "_") && is_name(&name) {
            self.module.items.insert(name);
            self.at += 1;
        }
    }

    /// `mod name;`, remembered when `#[cfg(test)]` stands before it.
    fn declare_module(&mut self) {
        let name = self.token(1).to_string();
        self.at += 1;
        let start = self.at.saturating_sub(16);
        let before: String = self.tokens[start..self.at]
            .iter()
            .map(|(token, _)| token.as_str())
            .collect();
        let attributes = before.rsplit([';', '}']).next().unwrap_or_default();
        if attributes.contains("#[cfg(test)]") {
            self.test_modules.push(name);
        }
    }

    /// A path that is none of `use`: `name`, or `name::name`… as far as it goes.
    fn read_path(&mut self) {
        let line = self.tokens[self.at].1;
        let is_field_or_method = self.at > 0 && matches!(self.tokens[self.at - 1].0.as_str(), "." | "::");
        let mut path = vec![self.token(0).to_string()];
        while self.token(1) == "::" && is_name(self.token(2)) {
            self.at += 2;
            path.push(self.token(0).to_string());
        }
        if !is_field_or_method && path.len() > 1 {
            self.module.uses.push((path, line));
        }
    }

    /// A tree of `use`, from its first token on; stops behind it.
    fn read_use(&mut self, prefix: &[String]) {
        let mut path = prefix.to_vec();
        loop {
            let line = self.tokens.get(self.at).map_or(0, |(_, line)| *line);
            let token = self.token(0).to_string();
            match token.as_str() {
                "::" => self.at += 1,
                "{" => {
                    self.at += 1;
                    while !matches!(self.token(0), "}" | "") {
                        self.read_use(&path);
                        if self.token(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                name if is_name(name) => {
                    path.push(token);
                    self.at += 1;
                    if self.token(0) != "::" {
                        self.import(path, line);
                        return;
                    }
                }
                _ => {
                    self.at += 1;
                    return;
                }
            }
        }
    }

    /// The path that a `use` ends with, `as` another name or under its own.
    fn import(&mut self, mut path: Vec<String>, line: usize) {
        if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
            path.pop();
        }
        let mut alias = path.last().cloned().unwrap_or_default();
        if self.token(0) == "as" {
            alias = self.token(1).to_string();
            self.at += 2;
        }
        self.module.uses.push((path.clone(), line));
        self.module.imports.insert(alias, path);
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn tokens(code: &str) -> Vec<(String, usize)> {
    let mut tokens: Vec<(String, usize)> = Vec::new();
    let mut line = 1;
    let mut joins = false;
    for c in code.chars() {
        let in_name = c.is_alphanumeric() || c == '_';
        match tokens.last_mut() {
            Some((last, _))
                if joins && in_name && last.ends_with(|c: char| c.is_alphanumeric() || c == '_') =>
            {
                last.push(c);
            }
            Some((last, _)) if joins && c == ':' && last == ":" => last.push(c),
            _ if c.is_whitespace() => {}
            _ => tokens.push((c.to_string(), line)),
        }
        joins = !c.is_whitespace();
        line += usize::from(c == '\n');
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::{SourceFile, circles, folder_circles};

    fn source_files(files: &[(&str, &str)]) -> Vec<SourceFile> {
        let file = |(path, text): &(&str, &str)| SourceFile {
            path: path.to_string(),
            text: text.to_string(),
        };
        files.iter().map(file).collect()
    }

    /// The first lines of what is found in these files.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files = source_files(files);
        let first_line = |text: String| text.lines().next().unwrap_or_default().to_string();
        circles(&files).into_iter().map(first_line).collect()
    }

    #[track_caller]
    fn fires(files: &[(&str, &str)], members: &str) {
        let expected = format!("in a circle: {members}; give what they share a file of its own");
        assert_eq!(found(files), [expected]);
    }

    #[test]
    fn files_that_name_one_another_fire() {
        let root = ("lib.rs", "mod a;\nmod b;\n");
        let b = ("b.rs", "use crate::a::A;\npub struct B(A);\n");
        fires(
            &[root, ("a.rs", "pub struct A;\nfn f(b: super::b::B) {}\n"), b],
            "src/a.rs, src/b.rs",
        );
        let by_name_of_module = "use super::b;\npub struct A;\nfn f() { b::B::new() }\n";
        fires(&[root, ("a.rs", by_name_of_module), b], "src/a.rs, src/b.rs");
        let in_tests = "pub struct A;\n#[cfg(test)]\nmod tests {\n    use super::b::B;\n}\n";
        assert!(found(&[root, ("a.rs", in_tests), b]).is_empty());
        assert!(found(&[root, ("a.rs", "pub struct A; // crate::b::B\n"), b]).is_empty());
    }

    #[test]
    fn folders_that_name_one_another_fire() {
        let root = ("lib.rs", "mod p;\nmod q;\n");
        let (p, q) = (("p/mod.rs", "mod a;\nmod b;\n"), ("q/mod.rs", "mod c;\nmod d;\n"));
        let a = ("p/a.rs", "use crate::q::c::C;\npub struct A(C);\n");
        let (b, c) = (("p/b.rs", "pub struct B;\n"), ("q/c.rs", "pub struct C;\n"));
        let d = ("q/d.rs", "use crate::p::b::B;\npub struct D(B);\n");
        let files = source_files(&[root, p, q, a, b, c, d]);
        assert!(circles(&files).is_empty());
        assert_eq!(folder_circles(&files), ["in a circle in src/: p, q"]);
        let files = source_files(&[root, p, q, a, b, c, ("q/d.rs", "pub struct D;\n")]);
        assert!(folder_circles(&files).is_empty());
    }

    #[test]
    fn a_re_export_is_seen_through() {
        let files = [
            ("lib.rs", "mod p;\n"),
            (
                "p/mod.rs",
                "mod a;\nmod b;\npub use a::A;\npub use b::{B as Renamed, B};\n",
            ),
            ("p/b.rs", "use super::A;\npub struct B(A);\n"),
        ];
        let a = ("p/a.rs", "pub struct A(crate::p::Renamed);\n");
        fires(&[files[0], files[1], files[2], a], "src/p/a.rs, src/p/b.rs");
        let a = ("p/a.rs", "pub struct A;\n");
        assert!(found(&[files[0], files[1], files[2], a]).is_empty());
    }

    #[test]
    fn a_folder_and_its_files_may_name_one_another_but_not_over_others() {
        let folder = "mod a;\npub trait T {}\npub fn enter() { a::run() }\n";
        let a = "use super::T;\npub fn run() {}\n";
        let root = ("lib.rs", "mod p;\nmod q;\n");
        let q = ("q.rs", "pub struct Q;\n");
        assert!(found(&[root, ("p/mod.rs", folder), ("p/a.rs", a), q]).is_empty());
        let q = ("q.rs", "pub struct Q;\nfn f() { crate::p::enter() }\n");
        let a = "use super::T;\nuse crate::q::Q;\npub fn run(q: Q) {}\n";
        fires(
            &[root, ("p/mod.rs", folder), ("p/a.rs", a), q],
            "src/p/a.rs, src/q.rs",
        );
    }
}
