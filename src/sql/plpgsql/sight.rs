//! What a fragment may name of the variables in sight, and `Layout`: where their values are found as long as they are of the same types.

use super::variable::{Field, Fields, Holder, Name, Variable, unassigned};
use super::words::Words;
use crate::Result;
use crate::system::{self, NameConflict, Variables};
use crate::types::{CatalogType, SqlType, Value};

/// What is in sight where a fragment stands.
pub(super) struct Scope<'a> {
    pub(super) variables: &'a [Variable],
    /// The innermost last.
    pub(super) names: &'a [Name],
    /// The variables that arguments are, in their order.
    pub(super) inputs: &'a [usize],
    /// What a name means that is a column's, too.
    pub(super) conflict: NameConflict,
}

/// The variables that a text may name.
pub(super) struct Sight {
    pub(super) variables: Variables,
    /// Values and types of all that it may name: the arguments first, which it may name by number.
    pub(super) values: Vec<(Value, SqlType)>,
    /// `None`: what a record's fields are nobody knows yet.
    pub(super) layout: Option<Layout>,
}

/// Where the values of a fragment are found.
#[derive(Debug)]
pub(super) struct Layout {
    /// So many names were in sight: where a fragment stands they are the same in each run.
    names: usize,
    places: Vec<Place>,
}

/// A variable, as it was.
#[derive(Debug)]
struct Place {
    at: usize,
    shape: Shape,
}

#[derive(Debug)]
enum Shape {
    Scalar(SqlType),
    Fields {
        /// Names and types.
        all: Vec<(String, SqlType)>,
        /// Those whose values are given.
        given: Vec<usize>,
        /// Then all of it as one value.
        whole: bool,
    },
}

impl Layout {
    /// The values. `None`: something is not as it was.
    pub(super) fn values(&self, scope: &Scope<'_>) -> Option<Vec<Value>> {
        if scope.names.len() != self.names {
            return None;
        }
        let mut values = Vec::with_capacity(self.places.len());
        for place in &self.places {
            match (&place.shape, &scope.variables.get(place.at)?.holder) {
                (Shape::Scalar(known), Holder::Scalar { ty, value }) if known == ty => {
                    values.push(value.clone());
                }
                (Shape::Fields { all, given, whole }, Holder::Row(fields) | Holder::Record(Some(fields)))
                    if fields.are_like(all) =>
                {
                    values.extend(given.iter().map(|at| fields.all[*at].value.clone()));
                    values.extend(whole.then(|| fields.whole().0));
                }
                _ => return None,
            }
        }
        Some(values)
    }
}

impl Fields {
    fn are_like(&self, known: &[(String, SqlType)]) -> bool {
        let mut both = self.all.iter().zip(known);
        self.all.len() == known.len()
            && both.all(|(field, (name, ty))| field.name == *name && field.ty == *ty)
    }

    fn shape(&self, given: Vec<usize>, whole: bool) -> Shape {
        let all = self.all.iter();
        Shape::Fields {
            all: all.map(|field| (field.name.clone(), field.ty.clone())).collect(),
            given,
            whole,
        }
    }
}

impl Sight {
    fn give(&mut self, value: &Value, ty: &SqlType) -> usize {
        self.values.push((value.clone(), ty.clone()));
        self.values.len()
    }

    fn name(&mut self, name: &Name, own: &str, is_field: bool, (value, ty): (&Value, &SqlType)) {
        let parameter = self.give(value, ty);
        self.variables.all.push(system::Variable {
            qualifiers: name.qualifier.iter().cloned().collect(),
            record: is_field.then(|| name.name.clone()),
            name: own.to_string(),
            parameter,
            ty: ty.clone(),
        });
    }

    fn place(&mut self, at: usize, shape: Shape) {
        if let Some(layout) = &mut self.layout {
            layout.places.push(Place { at, shape });
        }
    }
}

impl Scope<'_> {
    /// What a fragment of these words may name of the variables. Errors: 55000 for a record that nothing was assigned to.
    pub(super) fn visible(&self, words: &Words) -> Result<Sight> {
        let mut seen = Sight {
            variables: Variables {
                all: Vec::new(),
                conflict: self.conflict,
            },
            values: Vec::new(),
            layout: Some(Layout {
                names: self.names.len(),
                places: Vec::new(),
            }),
        };
        if words.all.iter().any(|word| word.starts_with('$')) {
            for at in self.inputs {
                self.give_argument(*at, &mut seen);
            }
        }
        for name in self.names.iter().rev() {
            if !words.contains(&name.name) || name.name.starts_with('$') {
                continue;
            }
            match &self.variables[name.at].holder {
                Holder::Scalar { ty, value } => {
                    seen.name(name, &name.name, false, (value, ty));
                    seen.place(name.at, Shape::Scalar(ty.clone()));
                }
                Holder::Row(fields) | Holder::Record(Some(fields)) => {
                    see_fields(words, name, fields, &mut seen);
                }
                Holder::Record(None) => {
                    seen.layout = None;
                    // All of it is NULL; what its fields are nobody knows.
                    if words.rows.contains(&name.name) {
                        let null = (&Value::Null, &SqlType::Catalog(CatalogType::Record));
                        seen.name(name, &name.name, false, null);
                    } else if !self.hidden_is_named(name, words) {
                        // Otherwise the text means one of the same name around it.
                        return Err(unassigned(&name.name));
                    }
                }
            }
        }
        Ok(seen)
    }

    /// An argument, as it is named by number.
    fn give_argument(&self, at: usize, seen: &mut Sight) {
        let holder = &self.variables[at].holder;
        match holder {
            Holder::Scalar { ty, .. } => seen.place(at, Shape::Scalar(ty.clone())),
            Holder::Row(fields) | Holder::Record(Some(fields)) => {
                seen.place(at, fields.shape(Vec::new(), true));
            }
            Holder::Record(None) => seen.layout = None,
        }
        seen.values.extend(holder.whole());
    }

    /// Whether the words name the block or the function of another variable of this name, which it hides.
    fn hidden_is_named(&self, name: &Name, words: &Words) -> bool {
        let is_named = |qualifier: &String| words.contains(qualifier);
        self.names.iter().any(|other| {
            other.at != name.at && other.name == name.name && other.qualifier.as_ref().is_some_and(is_named)
        })
    }
}

/// The fields of a record that a fragment may name. The first is among them in any case, so that a field that is not there is told of.
fn see_fields(words: &Words, name: &Name, fields: &Fields, seen: &mut Sight) {
    let is_named = |field: &Field| words.contains(&field.name) || words.contains(&field.name.to_lowercase());
    let fields_named = fields.all.iter().enumerate();
    let given: Vec<usize> = fields_named
        .filter(|(at, field)| *at == 0 || is_named(field))
        .map(|(at, _)| at)
        .collect();
    for at in &given {
        let field = &fields.all[*at];
        seen.name(name, &field.name, true, (&field.value, &field.ty));
    }
    let whole = words.rows.contains(&name.name);
    if whole {
        let (value, ty) = fields.whole();
        seen.name(name, &name.name, false, (&value, &ty));
    }
    seen.place(name.at, fields.shape(given, whole));
}
