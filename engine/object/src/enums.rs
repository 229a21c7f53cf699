//! Enumerated values (object model, section 11). A value is stored as its text and compared byte for byte.

/// A set of permitted values, as the schema refers to it.
#[derive(Debug, PartialEq, Eq)]
pub struct EnumSet {
    /// The name of the set.
    pub name: &'static str,
    /// Its values, in declared order.
    pub values: &'static [&'static str],
}

impl EnumSet {
    /// The position of `text` in the set.
    #[inline]
    pub fn position(&self, text: &[u8]) -> Option<usize> {
        self.values.iter().position(|value| value.as_bytes() == text)
    }
}

macro_rules! enum_sets {
    ($($(#[$meta:meta])* $name:ident $set:literal { $($variant:ident = $text:literal),* $(,)? })*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub enum $name {
                $(#[doc = concat!("Stored as `", $text, "`.")] $variant,)*
            }

            impl $name {
                /// Every value, in declared order.
                pub const ALL: &'static [$name] = &[$($name::$variant),*];
                /// The set as the schema refers to it.
                pub const SET: &'static EnumSet = &EnumSet { name: $set, values: &[$($text),*] };

                /// The stored text.
                pub fn as_str(self) -> &'static str {
                    match self { $($name::$variant => $text,)* }
                }

                /// The value stored as `text`.
                pub fn from_text(text: &str) -> Option<$name> {
                    Self::SET.position(text.as_bytes()).and_then(|at| Self::ALL.get(at)).copied()
                }
            }

            impl<'a> crate::view::FromValue<'a> for $name {
                fn take(data: &mut &'a [u8]) -> Option<$name> {
                    let text = crate::view::take_bytes(data)?;
                    Self::SET.position(text).and_then(|at| Self::ALL.get(at)).copied()
                }

                fn zero() -> $name {
                    Self::ALL[0]
                }
            }

            impl crate::WriteValue for $name {
                fn write(
                    self,
                    out: &mut Vec<u8>,
                    tag: u8,
                    ty: &'static crate::FieldType,
                ) -> Result<(), crate::ObjectError> {
                    self.as_str().write(out, tag, ty)
                }
            }

            impl std::fmt::Display for $name {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.pad(self.as_str())
                }
            }
        )*

        /// Every set, in the order of the object model.
        pub const ENUM_SETS: &[&EnumSet] = &[$($name::SET),*];
    };
}

enum_sets! {
    /// How much of its inputs an actor lets others see.
    Disclosure "disclosure" {
        Full = "FULL", DigestOnly = "DIGEST_ONLY", Redacted = "REDACTED",
        ExternalAttestation = "EXTERNAL_ATTESTATION", Ephemeral = "EPHEMERAL",
    }
    /// What an operation did.
    OpType "op_type" {
        CreateFile = "create_file", WriteFile = "write_file", WriteRange = "write_range",
        DeleteFile = "delete_file", RenamePath = "rename_path", ApplyPatch = "apply_patch",
        ExecCommand = "exec_command", RunTest = "run_test", InvokeOracle = "invoke_oracle",
        InspectArtifact = "inspect_artifact", AstTransform = "ast_transform", Other = "other",
    }
    /// How an operation ended.
    ResultStatus "result_status" {
        Ok = "ok", Failed = "failed", Partial = "partial", Skipped = "skipped", Inconclusive = "inconclusive",
    }
    /// How an episode ended.
    EpisodeOutcome "episode_outcome" {
        Completed = "completed", Interrupted = "interrupted", Aborted = "aborted", Inconclusive = "inconclusive",
    }
    /// Where a case stands.
    CaseStatus "case_status" { Open = "open", Active = "active", Closed = "closed", Abandoned = "abandoned" }
    /// How a trajectory was closed.
    TrajectoryOutcome "trajectory_outcome" {
        Completed = "completed", Abandoned = "abandoned", Superseded = "superseded", Rejected = "rejected",
        Inconclusive = "inconclusive", Interrupted = "interrupted",
    }
    /// What sort of proposition a claim is.
    ClaimKind "claim_kind" {
        Compatibility = "compatibility", Correctness = "correctness", Performance = "performance",
        Security = "security", Safety = "safety", Invariant = "invariant", Behavior = "behavior", Other = "other",
    }
    /// What sort of observation an evidence is.
    EvidenceKind "evidence_kind" {
        TestResult = "test_result", CompilerResult = "compiler_result", FuzzResult = "fuzz_result",
        Benchmark = "benchmark", OracleComparison = "oracle_comparison", StaticAnalysis = "static_analysis",
        FormalProof = "formal_proof", BinaryComparison = "binary_comparison", RuntimeTrace = "runtime_trace",
        Replay = "replay", EnvironmentManifest = "environment_manifest", ArtifactHash = "artifact_hash",
        ExternalAttestation = "external_attestation", CourtReceipt = "court_receipt",
    }
    /// What was observed.
    EvidenceOutcome "evidence_outcome" {
        Pass = "pass", Fail = "fail", Mismatch = "mismatch", Inconclusive = "inconclusive", Error = "error",
        Skipped = "skipped",
    }
    /// What sort of disagreement a residual is.
    ResidualClass "residual_class" {
        SemanticDivergence = "semantic_divergence", ExpectedMismatch = "expected_mismatch",
        PlatformDivergence = "platform_divergence", PerformanceDivergence = "performance_divergence",
        UnexplainedDivergence = "unexplained_divergence", ContractMismatch = "contract_mismatch",
        VerificationGap = "verification_gap", Other = "other",
    }
    /// How much a residual matters.
    ResidualSeverity "residual_severity" { Low = "low", Medium = "medium", High = "high", Blocking = "blocking" }
    /// What has been decided about a residual.
    Disposition "disposition" {
        Open = "open", Acknowledged = "acknowledged", Resolved = "resolved", Superseded = "superseded",
        Irrelevant = "irrelevant",
    }
    /// How a verification ended.
    VerifyResult "verify_result" {
        Pass = "pass", Partial = "partial", Fail = "fail", Inconclusive = "inconclusive", NotRun = "not_run",
    }
    /// What sort of actor a producer is.
    ProducerKind "producer_kind" {
        Human = "human", Agent = "agent", Automation = "automation", Compiler = "compiler", Fuzzer = "fuzzer",
        ExternalOracle = "external_oracle", GitImport = "git_import", Unknown = "unknown",
    }
    /// What an environment could reach.
    Network "network" { None = "none", Restricted = "restricted", Full = "full", Unknown = "unknown" }
    /// How repeatable an environment is.
    Determinism "determinism" {
        FullyDeterministic = "fully_deterministic", ReproducibleWithFixture = "reproducible_with_fixture",
        BestEffort = "best_effort", Unknown = "unknown",
    }
    /// In which respect two trajectories interact.
    InteractionKind "interaction_kind" {
        Textual = "textual", Semantic = "semantic", Claim = "claim", Invariant = "invariant",
        Dependency = "dependency", Behavioral = "behavioral", Verification = "verification",
    }
    /// How sure a derived relation is.
    Certainty "certainty" { Observed = "observed", Possible = "possible", Unknown = "unknown" }
    /// What sort of declaration an entity is.
    EntityKind "entity_kind" {
        Module = "module", Type = "type", Trait = "trait", Impl = "impl", Function = "function",
        Method = "method", Constant = "constant", Static = "static", Test = "test", Feature = "feature",
        Dependency = "dependency", Other = "other",
    }
    /// Who may use an entity.
    Visibility "visibility" { Public = "public", Crate = "crate", Private = "private", Unknown = "unknown" }
    /// Which external identity a mapping is about.
    MappingKind "mapping_kind" { GitCommit = "git_commit", GitTree = "git_tree", External = "external" }
    /// What may happen to the objects of a tier.
    RetentionPolicy "retention_policy" {
        RetainForever = "retain_forever", RetainPolicy = "retain_policy", PruneAfterDays = "prune_after_days",
        SizeLimitBytes = "size_limit_bytes", ArchiveRemote = "archive_remote",
    }
    /// What happens to objects of no tier.
    DefaultUnknown "default_unknown" { Retain = "retain", Prune = "prune", Archive = "archive" }
    /// Whether recorded commands may be run again.
    ExecutionPolicy "execution_policy" {
        NeverAutoExecute = "never_auto_execute", PolicyGated = "policy_gated", Allowlist = "allowlist",
    }
}
