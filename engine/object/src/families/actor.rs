//! Producer, agent run, environment and context manifest: who acted, where, and knowing what.

use super::proof::{NewTool, Tool};
use crate::macros::*;

record! {
    /// A person.
    Human / NewHuman {
        0x01 name: req str,
        0x02 email: opt str,
    }
}

record! {
    /// A model with its harness.
    Agent / NewAgent {
        0x01 model_family: opt str,
        0x02 model_id: opt str,
        0x03 harness: opt str,
        0x04 permissions: opt [str],
    }
}

record! {
    /// A program acting on its own.
    Automation / NewAutomation {
        0x01 system: req str,
        0x02 version: opt str,
    }
}

record! {
    /// Who or what a producer is; one of the three.
    Identity / NewIdentity {
        0x01 human: opt (record Human / NewHuman),
        0x02 agent: opt (record Agent / NewAgent),
        0x03 automation: opt (record Automation / NewAutomation),
    }
}

family! {
    /// Who or what acted.
    Producer / NewProducer {
        0x01 kind: req (enum ProducerKind),
        0x02 name: req str,
        0x03 identity: opt (record Identity / NewIdentity),
        0x04 disclosure: req (enum Disclosure),
        0x05 attestation: opt (gid Evidence),
        0x06 created_at: opt sint,
    }
}

family! {
    /// One run of an agent.
    AgentRun / NewAgentRun {
        0x01 producer: req (gid Producer),
        0x02 model_family: opt str,
        0x03 model_id: opt str,
        0x04 harness: opt str,
        0x05 permissions: opt [str],
        0x06 input_state: opt (gid State),
        0x07 intent: opt (gid Intent),
        0x08 context_manifest: opt (gid ContextManifest),
        0x09 instruction_digest: opt bytes,
        0x0A tool_identities: opt [(record Tool / NewTool)],
        0x0B environment: opt (gid Environment),
        0x0C parent: opt (gid AgentRun),
        0x0D output_trajectory: opt (gid Trajectory),
        0x0E disclosure: req (enum Disclosure),
        0x0F conversation_ref: opt (gid *),
        0x10 started_at: opt sint,
        0x11 ended_at: opt sint,
    }
}

record! {
    /// An operating system.
    Os / NewOs {
        0x01 family: req str,
        0x02 name: req str,
        0x03 version: opt str,
        0x04 kernel: opt str,
    }
}

record! {
    /// Something named, with its version where known.
    NamedVersion / NewNamedVersion {
        0x01 name: req str,
        0x02 version: opt str,
    }
}

record! {
    /// A part of a toolchain.
    Toolchain / NewToolchain {
        0x01 name: req str,
        0x02 version: opt str,
        0x03 digest: opt bytes,
    }
}

record! {
    /// A machine.
    Hardware / NewHardware {
        0x01 cpu: req str,
        0x02 cores: req uint,
        0x03 memory_bytes: req uint,
    }
}

record! {
    /// A container.
    Container / NewContainer {
        0x01 image_digest: req bytes,
        0x02 runtime: req str,
    }
}

family! {
    /// The machine and its configuration.
    Environment / NewEnvironment {
        0x01 os: opt (record Os / NewOs),
        0x02 arch: opt str,
        0x03 compiler: opt (record NamedVersion / NewNamedVersion),
        0x04 runtime: opt (record NamedVersion / NewNamedVersion),
        0x05 toolchain: opt [(record Toolchain / NewToolchain)],
        0x06 hardware: opt (record Hardware / NewHardware),
        0x07 container: opt (record Container / NewContainer),
        0x08 network: opt (enum Network),
        0x09 env_manifest: opt (gid Blob),
        0x0A determinism: opt (enum Determinism),
        0x0B created_at: opt sint,
    }
}

family! {
    /// What an agent saw.
    ContextManifest / NewContextManifest {
        0x01 source_objects: opt [(gid *)],
        0x02 documentation_objects: opt [(gid *)],
        0x03 claims: opt [(gid Claim)],
        0x04 residuals: opt [(gid Residual)],
        0x05 previous_trajectories: opt [(gid Trajectory)],
        0x06 external_artifacts: opt [(gid *)],
        0x07 tool_outputs: opt [(gid *)],
        0x08 policies: opt [(gid Config)],
        0x09 producer: opt (gid Producer),
        0x0A instruction: opt str,
        0x0B instruction_digest: opt bytes,
        0x0C created_at: opt sint,
    }
}
