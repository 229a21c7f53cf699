//! Semantic entity and index: the program behind the files.

use crate::macros::*;

family! {
    /// A declared program entity.
    SemanticEntity / NewSemanticEntity {
        0x01 kind: req (enum EntityKind),
        0x02 name: req str,
        0x03 module_path: req str,
        0x04 file_path: opt str,
        0x05 start_line: opt uint,
        0x06 end_line: opt uint,
        0x07 signature: opt str,
        0x08 visibility: opt (enum Visibility),
        0x09 parent: opt (gid SemanticEntity),
        0x0A lineage_from: opt (gid SemanticEntity),
        0x0B lineage_evidence: opt str,
        0x0C lineage_certainty: opt (enum Certainty),
        0x0D dependencies: opt [(gid SemanticEntity)],
        0x0E state: opt (gid State),
        0x0F producer: opt (gid Producer),
        0x10 created_at: opt sint,
    }
}

family! {
    /// The entities of a state.
    SemanticIndex / NewSemanticIndex {
        0x01 state: req (gid State),
        0x02 entities: req [(gid SemanticEntity)],
        0x03 producer: opt (gid Producer),
        0x04 created_at: opt sint,
    }
}
