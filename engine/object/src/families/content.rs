//! State and operation: what the files are and what was done to them.

use crate::macros::*;

family! {
    /// Exact content of a repository.
    State / NewState {
        0x01 root_tree: req (gid Tree),
    }
}

record! {
    /// How an operation ended.
    OperationResult / NewOperationResult {
        0x01 status: req (enum ResultStatus),
        0x02 detail: opt str,
        0x03 exit_code: opt sint,
        0x04 refs: opt [(gid *)],
    }
}

family! {
    /// A low-level transformation.
    Operation / NewOperation {
        0x01 op_type: req (enum OpType),
        0x02 subject_path: opt path,
        0x03 subject_ref: opt (gid *),
        0x04 input_refs: opt [(gid *)],
        0x05 output_refs: opt [(gid *)],
        0x06 result: opt (record OperationResult / NewOperationResult),
        0x07 producer: opt (gid Producer),
        0x08 environment: opt (gid Environment),
        0x09 started_at: opt sint,
        0x0A ended_at: opt sint,
        0x0B description: opt str,
        0x0C outcome_refs: opt [(gid *)],
        0x11 content: opt (gid Blob) for CreateFile WriteFile Other,
        0x12 start: opt uint for WriteRange Other,
        0x13 length: opt uint for WriteRange Other,
        0x14 new_content: opt (gid Blob) for WriteRange Other,
        0x15 old_content: opt (gid Blob) for WriteRange Other,
        0x16 from: opt path for RenamePath Other,
        0x17 to: opt path for RenamePath Other,
        0x18 patch: opt (gid Blob) for ApplyPatch Other,
        0x19 patch_format: opt str for ApplyPatch Other,
        0x1A argv: opt [str] for ExecCommand Other,
        0x1B cwd: opt str for ExecCommand Other,
        0x1C stdin_ref: opt (gid *) for ExecCommand Other,
        0x1D stdout_ref: opt (gid *) for ExecCommand Other,
        0x1E stderr_ref: opt (gid *) for ExecCommand Other,
        0x1F test_command: opt str for RunTest Other,
        0x20 test_ids: opt [str] for RunTest Other,
        0x21 tool: opt str for RunTest Other,
        0x22 oracle: opt str for InvokeOracle Other,
        0x23 oracle_version: opt str for InvokeOracle Other,
        0x24 query: opt (gid *) for InvokeOracle Other,
        0x25 response: opt (gid *) for InvokeOracle Other,
        0x26 artifact: opt (gid *) for InspectArtifact Other,
        0x27 transform: opt str for AstTransform Other,
        0x28 input_ast: opt (gid *) for AstTransform Other,
        0x29 output_ast: opt (gid *) for AstTransform Other,
    }
}
