//! Telling objects of a bundle whole, as far as the budget allows.

use super::Forms;
use super::bundle::{Bundle, cost_of};
use crate::Result;
use crate::facts::Omitted;
use crate::history::graph::stored;
use crate::history::view::omitted_list;
use crate::knowledge::world::World;
use crate::{RepoError, history::Veil};
use gemel_object::{Family, Gid, Limits, Object};
use serde_json::Value;
use std::collections::BTreeMap;

/// Adds the whole of each object that fits, in order; what does not is counted by class.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(super) fn tell_whole(
    world: &mut World<'_>,
    forms: &dyn Forms,
    bundle: &mut Bundle,
) -> Result<Vec<Omitted>> {
    let mut omitted = Vec::new();
    let mut left: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for at in 0..bundle.objects.len() {
        let Some(object) = bundle.objects.get(at) else { break };
        let room = bundle.budget.remaining().saturating_add(object.cost());
        let mut whole = object.clone();
        let class = whole.class.as_str();
        match tell(world, forms, &whole.id, room)? {
            Some(told) => {
                (whole.level, whole.object, whole.content) = (3, Some(told.object), told.content);
                if whole.cost() <= room {
                    bundle.budget.consumed = bundle.budget.tokens - (room - whole.cost());
                    bundle.objects[at] = whole;
                    omitted.extend(told.hidden);
                    continue;
                }
                left.entry(class).or_default().push(whole.id.to_string());
            }
            None => left.entry(class).or_default().push(whole.id.to_string()),
        }
    }
    omitted.extend(left.into_iter().map(|(class, ids)| omitted_list(class, "level", ids)));
    Ok(omitted)
}

struct Told {
    object: Value,
    content: Option<String>,
    hidden: Vec<Omitted>,
}

/// An object in full; `None` when its bytes alone are more than fit, or it is not stored.
fn tell(world: &mut World<'_>, forms: &dyn Forms, id: &Gid, room: u64) -> Result<Option<Told>> {
    let store = world.store();
    let Some(len) = stored(store.len_bytes(id).map_err(RepoError::from))? else { return Ok(None) };
    // A form is never shorter than half the bytes it tells; a blob is told twice, once in hexadecimal digits.
    let least = if id.family() == Family::Blob { len.saturating_mul(2) } else { len / 2 };
    if cost_of(least) > room {
        return Ok(None);
    }
    let envelope = store.read(id)?;
    let veil: Veil = world.veil(id)?;
    let object = Object::parse(&envelope, &Limits::DEFAULT)
        .map_err(|error| RepoError::CorruptObject { id: *id, detail: error.to_string() })?;
    let content = (id.family() == Family::Blob).then(|| match std::str::from_utf8(object.body()) {
        Ok(text) => text.to_owned(),
        Err(_) => object.body().iter().map(|byte| format!("{byte:02x}")).collect(),
    });
    Ok(Some(Told {
        object: Value::Object(forms.object(&object, &veil)),
        content,
        hidden: veil.omitted(&object),
    }))
}
