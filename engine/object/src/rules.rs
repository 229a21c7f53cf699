//! Rules that hold for a whole body, once every field of it is well-formed (object model, section 4, step 13).

use crate::families::{Claim, Mapping, Operation};
use crate::{Family, Object, ObjectError, tree};

/// Applies the rules of the object's family.
pub(crate) fn check(object: &Object<'_>) -> Result<(), ObjectError> {
    match object.family() {
        Family::Tree => tree::check(object),
        Family::Operation => operation(object),
        Family::Claim => claim(object),
        Family::Mapping => mapping(object),
        _ => Ok(()),
    }
}

/// FAM-06: a parameter must be declared for the operation's kind.
fn operation(object: &Object<'_>) -> Result<(), ObjectError> {
    let kind = Operation::view(object)?.op_type();
    let declared = object.record().fields().filter_map(|field| field.schema);
    let stray =
        declared.filter(|field| field.op_types.is_parameter()).find(|field| !field.op_types.contains(kind));
    match stray {
        Some(field) => Err(ObjectError::UndeclaredOperationTag { tag: field.tag, op_type: kind.as_str() }),
        None => Ok(()),
    }
}

/// FAM-12: the predicate says something.
fn claim(object: &Object<'_>) -> Result<(), ObjectError> {
    if Claim::view(object)?.predicate().is_empty() { Err(ObjectError::EmptyPredicate) } else { Ok(()) }
}

/// OBJ-12: nothing was fabricated.
fn mapping(object: &Object<'_>) -> Result<(), ObjectError> {
    let count = Mapping::view(object)?.loss().map_or(0, |loss| loss.fabricated().len() as u64);
    if count == 0 { Ok(()) } else { Err(ObjectError::MappingFabricatedNonEmpty { count }) }
}
