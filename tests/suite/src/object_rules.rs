//! Rules that no table of bytes shows: cases the published tables leave out, rules that bind writers only, identities
//! that independent programs must agree on, and the typed forms of the families.

use gemel_object::families::*;
use gemel_object::{
    Certainty, DefaultUnknown, Disclosure, EntityKind, ExecutionPolicy, Family, FamilySchema, FieldType, Gid,
    Limits, MappingKind, Object, ObjectBuilder, ObjectError, OpType, ProducerKind, RecordBuilder,
    RecordSchema, RetentionPolicy, Value, VerifyResult,
};

fn envelope(family: Family, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![b'G', b'E', b'M', b'L', 1, family.code(), 1, 0];
    let mut len = body.len();
    while len >= 0x80 {
        bytes.push(len as u8 & 0x7F | 0x80);
        len >>= 7;
    }
    bytes.push(len as u8);
    bytes.extend_from_slice(body);
    bytes
}

fn answer(bytes: &[u8], limits: &Limits) -> Result<(), &'static str> {
    Object::decode(bytes, limits).map(drop).map_err(|error| error.name())
}

fn rejected(family: Family, body: &[u8], error: &'static str) {
    assert_eq!(answer(&envelope(family, body), &Limits::default()), Err(error), "{body:02x?}");
}

type Fill = fn(&mut RecordBuilder) -> &mut RecordBuilder;

fn gid(family: Family, byte: u8) -> Gid {
    Gid::new(family, [byte; 32])
}

/// ENC-16: also beside an operation's parameters.
#[test]
fn extensions_of_operations_are_kept() {
    let extensions: &[(u8, &[u8])] = &[(0x80, b"x"), (0xEF, b"")];
    let operation = NewOperation { op_type: Some(OpType::DeleteFile), extensions, ..Default::default() };
    let encoded = operation.encode(&Limits::default()).unwrap();
    let read = Operation::decode(&encoded.bytes, &Limits::default()).unwrap();
    assert_eq!(Vec::from_iter(read.record().extensions()), extensions);
}

/// ENC-07: too long is not cut.
#[test]
fn integers_of_more_than_ten_bytes() {
    let long = [[0x80; 10].as_slice(), &[0x01]].concat();
    rejected(Family::Intent, &[&[0x0C, 0x0B], long.as_slice()].concat(), "NonCanonicalInteger");
    rejected(Family::Intent, &long, "NonCanonicalInteger");
    rejected(Family::Intent, &[&[0x01], long.as_slice()].concat(), "NonCanonicalInteger");
    let mut header = b"GEML\x01\x01\x01\x00".to_vec();
    header.extend_from_slice(&long);
    assert_eq!(answer(&header, &Limits::default()), Err("NonCanonicalInteger"));
}

/// The bytes behind a bound are not looked at, whatever they are.
#[test]
fn integers_that_cross_their_bound() {
    for behind in 0..=0xFF {
        rejected(Family::Trajectory, &[0x0D, 0x01, 0x80, behind, 0x01, 0x00], "Varint");
        rejected(Family::Trajectory, &[0x0B, 0x01, 0x80, behind, 0x01, 0x00], "Varint");
        rejected(Family::Trajectory, &[0x0C, 0x02, 0x01, 0x80, behind, 0x01], "Varint");
        rejected(Family::Trajectory, &[0x06, 0x02, 0x01, 0x80, behind, 0x01], "Varint");
    }
}

/// ENC-20: the limit is on the whole envelope.
#[test]
fn the_header_counts_as_size() {
    let bytes = envelope(Family::Blob, b"content");
    let limits = |max_object_bytes| Limits { max_object_bytes, ..Limits::default() };
    assert_eq!(answer(&bytes, &limits(16)), Ok(()));
    assert_eq!(answer(&bytes, &limits(15)), Err("LimitExceeded"));
    assert_eq!(answer(&bytes, &limits(7)), Err("LimitExceeded"));
}

/// ENC-11: a wrong length is wrong before it is large.
#[test]
fn reference_lengths() {
    rejected(Family::State, &[0x01, 0x05, 0x81, 0x80, 0x80, 0x08, 0x02], "InvalidGid");
    rejected(Family::State, &[0x01, 0x03, 0x22, 0x02, 0x02], "InvalidGid");
    rejected(Family::State, &[0x01, 0x03, 0x21, 0x02, 0x02], "LengthMismatch");
}

/// ENC-19: records count, arrays and values do not.
#[test]
fn depth_counts_records() {
    let platforms =
        [NewRequiredPlatform { platform: Some("linux"), arch: Some("x86_64"), ..Default::default() }];
    let entries =
        [NewRequiredEntry { kind: Some("security"), platforms: Some(&platforms), ..Default::default() }];
    let config = NewConfig {
        execution_policy: Some(ExecutionPolicy::Allowlist),
        required_verification: Some(NewRequiredVerification {
            entries: Some(&entries),
            ..Default::default()
        }),
        ..Default::default()
    };
    let limits = |max_record_depth| Limits { max_record_depth, ..Limits::default() };
    assert!(config.encode(&limits(4)).is_ok());
    assert_eq!(config.encode(&limits(3)).unwrap_err().name(), "LimitExceeded");
}

/// A policy tightens limits and never raises them.
#[test]
fn limits_are_only_lowered() {
    let policy = NewConfigLimits {
        max_object_bytes: Some(10),
        max_record_depth: Some(1000),
        max_array_elements: Some(5),
        max_refs_per_object: Some(u64::MAX),
        max_string_bytes: Some(7),
        ..Default::default()
    };
    let config = NewConfig {
        execution_policy: Some(ExecutionPolicy::PolicyGated),
        limits: Some(policy),
        ..Default::default()
    };
    let encoded = config.encode(&Limits::default()).unwrap();
    let policy = Config::decode(&encoded.bytes, &Limits::default()).unwrap().limits().unwrap();
    let lowered = Limits::default().lowered_by(&policy.into());
    let expected =
        Limits { max_object_bytes: 10, max_array_elements: 5, max_string_bytes: 7, ..Limits::default() };
    assert_eq!(lowered, expected);
}

/// FAM-17 and OBJ-11: a verification carries its scope. Binds writers; old objects stay readable.
#[test]
fn a_new_verification_has_a_scope() {
    let bare = NewVerification { result: Some(VerifyResult::Pass), ..Default::default() };
    let missing = bare.encode(&Limits::default()).unwrap_err();
    assert!(matches!(missing, ObjectError::MissingRequiredField { tag: 0x03, field: "scope", .. }));
    let scoped = NewVerification { scope: Some(NewVerificationScope::default()), ..bare };
    assert!(scoped.encode(&Limits::default()).is_ok());
    let old = envelope(Family::Verification, b"\x07\x05\x04pass");
    let object = Object::decode(&old, &Limits::default()).unwrap();
    assert_eq!(Verification::view(&object).unwrap().result(), VerifyResult::Pass);
    let builder = ObjectBuilder::from_object(&object);
    assert_eq!(builder.finish_existing(&Limits::default()).unwrap().bytes, old);
    assert!(builder.finish(&Limits::default()).is_err());
}

/// FAM-18: an imported or unknown producer claims no identity. Binds writers; old objects stay readable.
#[test]
fn a_new_import_has_no_identity() {
    for kind in ProducerKind::ALL {
        let producer = NewProducer {
            kind: Some(*kind),
            name: Some("x"),
            disclosure: Some(Disclosure::Full),
            identity: Some(NewIdentity::default()),
            ..Default::default()
        };
        let refused = matches!(kind, ProducerKind::GitImport | ProducerKind::Unknown);
        let outcome = producer.encode(&Limits::default());
        assert_eq!(
            outcome.map(drop).map_err(|error| error.name()),
            if refused { Err("IdentityNotPermitted") } else { Ok(()) }
        );
        assert!(NewProducer { identity: None, ..producer }.encode(&Limits::default()).is_ok());
    }
    let old = envelope(Family::Producer, b"\x01\x08\x07unknown\x02\x02\x01x\x03\x01\x00\x04\x05\x04FULL");
    assert_eq!(answer(&old, &Limits::default()), Ok(()));
}

fn shared(kind: ProducerKind, name: &str, version: Option<&str>) -> String {
    let automation = NewAutomation { system: Some(name), version, ..Default::default() };
    let identity = NewIdentity { automation: Some(automation), ..Default::default() };
    let producer = NewProducer {
        kind: Some(kind),
        name: Some(name),
        identity: version.map(|_| identity),
        disclosure: Some(Disclosure::DigestOnly),
        created_at: Some(0),
        ..Default::default()
    };
    producer.encode(&Limits::default()).unwrap().id.to_string()
}

/// ID-01, ID-03 and ID-06: independent repositories agree on these.
#[test]
fn shared_producers() {
    let version = Some("0.1.0");
    for (kind, name, version, digest) in [
        (
            ProducerKind::Automation,
            "gemel",
            version,
            "06ff971e7bf19de0c069e0e230a03f470f242aabf7496ee7e3b5558301e7e730",
        ),
        (
            ProducerKind::Automation,
            "semantic-indexer",
            version,
            "94988a34591f976da6d63de98c51ce30a6584e763626a3c4653e1e2496fa5ff2",
        ),
        (
            ProducerKind::Automation,
            "court-runner",
            version,
            "114bd62022bc2af7db8646e4d0a658df18cacd8a0021af560f48b7d454c6825d",
        ),
        (
            ProducerKind::Automation,
            "gemel-export",
            version,
            "3baccc7f80a3c1c942b2bf7623e65df3f3d14e78fbd800eb0f79efb92db9c4a3",
        ),
        (
            ProducerKind::GitImport,
            "git-import",
            None,
            "4ac90e783dcec278f4b5f4d5270b7b2252424ff93f7416c78b6e744d996eebd4",
        ),
        (
            ProducerKind::Unknown,
            "unknown",
            None,
            "ccceedd228cd4d69bde1b0cae7d3b4977cffb05b5bcad7466b3f8f0645c1ecf1",
        ),
    ] {
        assert_eq!(shared(kind, name, version), format!("producer.{digest}"), "{name}");
    }
}

/// The policy of a new repository.
#[test]
fn the_first_config() {
    let tier = |tier, policy, days| NewRetentionTier {
        tier: Some(tier),
        policy: Some(policy),
        days,
        ..Default::default()
    };
    let tiers = [
        tier(0, RetentionPolicy::RetainForever, None),
        tier(1, RetentionPolicy::RetainPolicy, None),
        tier(2, RetentionPolicy::PruneAfterDays, Some(90)),
        tier(3, RetentionPolicy::PruneAfterDays, Some(14)),
    ];
    let limits = Limits::default();
    let config = NewConfig {
        retention: Some(NewRetention {
            tiers: Some(&tiers),
            default_unknown: Some(DefaultUnknown::Retain),
            ..Default::default()
        }),
        gc: Some(NewGcPolicy { enabled: Some(false), interval_days: Some(7), ..Default::default() }),
        execution_policy: Some(ExecutionPolicy::NeverAutoExecute),
        disclosure_default: Some(Disclosure::DigestOnly),
        limits: Some(NewConfigLimits {
            max_object_bytes: Some(limits.max_object_bytes),
            max_record_depth: Some(limits.max_record_depth),
            max_array_elements: Some(limits.max_array_elements),
            max_refs_per_object: Some(limits.max_refs_per_object),
            max_string_bytes: Some(limits.max_string_bytes),
            ..Default::default()
        }),
        created_at: Some(0),
        ..Default::default()
    };
    let encoded = config.encode(&limits).unwrap();
    let expected = "config.bbd4644444dfaeb004ee825e6e86addd81c9a7d22084720e54f9aed9375253bb";
    assert_eq!(encoded.id.to_string(), expected);
    let read = Config::decode(&encoded.bytes, &limits).unwrap();
    let tiers: Vec<_> =
        read.retention().unwrap().tiers().iter().map(|tier| (tier.tier(), tier.days())).collect();
    assert_eq!(tiers, [(0, None), (1, None), (2, Some(90)), (3, Some(14))]);
    assert_eq!(read.execution_policy(), ExecutionPolicy::NeverAutoExecute);
    assert_eq!(Limits::from(read.limits().unwrap()), limits);
}

/// ID-04: one name for every malformed identity.
#[test]
fn textual_identities() {
    let zeros = "0".repeat(64);
    for family in Family::ALL {
        let text = format!("{}.{zeros}", family.name());
        assert_eq!(Gid::parse(&text).unwrap().to_string(), text);
    }
    let bad = [
        format!("change.{}", "A".repeat(64)),
        format!("change.{}", &zeros[..63]),
        format!("change.{zeros}0"),
        format!("change.{}g", &zeros[..63]),
        format!("change.{}\u{e9}", &zeros[..62]),
        format!("change.{zeros}\n"),
        "change.".into(),
        format!("Change.{zeros}"),
        format!("commit.{zeros}"),
        format!("context_manifest.{zeros}"),
        format!(" change.{zeros}"),
        format!(".{zeros}"),
        format!("change..{zeros}"),
        format!("change{zeros}"),
        zeros,
        String::new(),
    ];
    for text in bad {
        let error = ObjectError::from(Gid::parse(&text).unwrap_err());
        assert_eq!(error.name(), "MalformedIdentity", "{text:?}");
    }
}

/// What only a writer can meet.
#[test]
fn values_that_do_not_fit() {
    let check = |family, fill: Fill, error| {
        let mut builder = ObjectBuilder::new(family);
        fill(builder.body());
        assert_eq!(builder.finish(&Limits::default()).unwrap_err().name(), error);
    };
    check(Family::Intent, |body| body.set(0x01, 1u64), "TypeMismatch");
    check(Family::Intent, |body| body.set(0x0C, 1u64), "TypeMismatch");
    check(Family::Intent, |body| body.set(0x03, "one"), "TypeMismatch");
    check(Family::Intent, |body| body.record(0x01, |_| {}), "TypeMismatch");
    check(Family::Intent, |body| body.records(0x03, 0..1, |_, _| {}), "TypeMismatch");
    check(Family::Intent, |body| body.set(0x08, [].as_slice() as &[Gid]), "TypeMismatch");
    check(Family::Blob, |body| body.ext(0x80, b""), "BodyKindMismatch");
    check(Family::Blob, |body| body.set(0x01, "a"), "BodyKindMismatch");
    check(Family::Intent, |body| body.ext(0x01, b"a"), "UnexpectedRawValue");
    check(Family::Intent, |body| body.set(0x01, Value::Extension(b"a")), "UnexpectedRawValue");
    check(Family::Intent, |body| body.set(0x80, "a"), "ExtensionMustBeRaw");
    check(Family::Intent, |body| body.set(0x7F, "a"), "UnknownMandatoryField");
    check(Family::Intent, |body| body.set(0x00, "a"), "ReservedTag");
    check(Family::Intent, |body| body.ext(0xF0, b"a"), "ReservedTag");
    check(Family::Intent, |body| body.set(0x01, "a").set(0x01, "a"), "DuplicateField");
    check(Family::Intent, |body| body.set(0x08, gid(Family::Case, 1)).set(0x01, "a"), "FamilyMismatch");
    check(Family::Operation, |body| body.set(0x01, "copy"), "InvalidEnumValue");
    check(Family::Operation, |body| body.set(0x01, "other").set(0x02, "/"), "InvalidPath");
    let mut builder = ObjectBuilder::new(Family::State);
    builder.raw(b"x").body().set(0x01, gid(Family::Tree, 1));
    assert_eq!(builder.finish(&Limits::default()).unwrap_err().name(), "BodyKindMismatch");
}

/// OBJ-09 and OBJ-10: derived status cannot be stored, because nothing declares it.
#[test]
fn nothing_derived_is_declared() {
    assert!(Claim::SCHEMA.field_named("status").is_none());
    assert!(Residual::SCHEMA.field_named("persistence").is_none());
    assert!(Verification::SCHEMA.field_named("verified").is_none());
}

/// Fields come out in tag order, whatever order they were given in, and an empty value is not an absent one.
#[test]
fn order_and_emptiness() {
    let encode = |fill: Fill| {
        let mut builder = ObjectBuilder::new(Family::Intent);
        fill(builder.body());
        builder.finish(&Limits::default()).unwrap()
    };
    let ascending = encode(|body| body.set(0x01, "s").set(0x02, "").set(0x0C, -1i64).ext(0x90, b"y"));
    let mixed = encode(|body| body.ext(0x90, b"y").set(0x0C, -1i64).set(0x02, "").set(0x01, "s"));
    assert_eq!(ascending, mixed);
    let absent = encode(|body| body.set(0x01, "s").set(0x0C, -1i64).ext(0x90, b"y"));
    assert_ne!(ascending.id, absent.id);
    let read =
        |bytes: &[u8]| Intent::decode(bytes, &Limits::default()).unwrap().description().map(str::to_owned);
    assert_eq!(read(&ascending.bytes).as_deref(), Some(""));
    assert_eq!(read(&absent.bytes), None);
}

/// Typed forms: what is written is read.
#[test]
fn typed_forms_agree() {
    let dependencies = [gid(Family::SemanticEntity, 1), gid(Family::SemanticEntity, 2)];
    let entity = NewSemanticEntity {
        kind: Some(EntityKind::Trait),
        name: Some("Read"),
        module_path: Some("std::io"),
        start_line: Some(u64::MAX),
        lineage_certainty: Some(Certainty::Possible),
        dependencies: Some(&dependencies),
        created_at: Some(i64::MIN),
        ..Default::default()
    };
    let encoded = entity.encode(&Limits::default()).unwrap();
    let object = Object::decode(&encoded.bytes, &Limits::default()).unwrap();
    let read = SemanticEntity::view(&object).unwrap();
    assert_eq!((read.kind(), read.name(), read.module_path()), (EntityKind::Trait, "Read", "std::io"));
    assert_eq!((read.start_line(), read.end_line()), (Some(u64::MAX), None));
    assert_eq!(read.lineage_certainty(), Some(Certainty::Possible));
    assert_eq!(Vec::from_iter(read.dependencies()), dependencies);
    assert_eq!(read.created_at(), Some(i64::MIN));
    assert_eq!(Change::view(&object).unwrap_err().name(), "FamilyMismatch");
}

/// ID-02 and ENC-21: equal content has one identity, and whatever differs has another.
#[test]
fn identity_is_content() {
    let intent = |summary, created_at| {
        let intent = NewIntent { summary: Some(summary), created_at, ..Default::default() };
        intent.encode(&Limits::default()).unwrap().id
    };
    assert_eq!(intent("a", Some(1)), intent("a", Some(1)));
    let all = [intent("a", Some(1)), intent("a", Some(2)), intent("a", None), intent("b", Some(1))];
    let distinct: std::collections::BTreeSet<Gid> = all.into_iter().collect();
    assert_eq!(distinct.len(), all.len());
}

/// ENC-22 and FAM-22: text is kept byte for byte, composed or not, the name of a foreign commit included.
#[test]
fn text_is_never_normalised() {
    for from in ["\u{e9}", "e\u{301}", "E", " x ", "\0", "", "0123456789ABCDEFabcdef"] {
        let mapping = NewMapping {
            kind: Some(MappingKind::External),
            from: Some(from),
            to: Some(gid(Family::Change, 1)),
            ..Default::default()
        };
        let encoded = mapping.encode(&Limits::default()).unwrap();
        assert_eq!(
            Mapping::decode(&encoded.bytes, &Limits::default()).unwrap().from().as_bytes(),
            from.as_bytes()
        );
    }
}

/// FAM-07, FAM-10, FAM-11, FAM-13 and FAM-17: each of these fields takes its set and nothing else.
#[test]
fn outcomes_come_from_their_sets() {
    let fields = [
        (Family::Change, "disclosure", "disclosure"),
        (Family::Trajectory, "outcome", "trajectory_outcome"),
        (Family::Verification, "result", "verify_result"),
        (Family::Evidence, "kind", "evidence_kind"),
    ];
    let bodies = fields.map(|(family, name, set)| (FamilySchema::of(family).body.unwrap(), name, set));
    let nested = [
        (OperationResult::SCHEMA, "status", "result_status"),
        (EvidenceResult::SCHEMA, "outcome", "evidence_outcome"),
    ];
    for (schema, name, set) in bodies.into_iter().chain(nested) {
        let ty = &schema.field_named(name).unwrap().ty;
        assert!(matches!(ty, FieldType::Enum(found) if found.name == set), "{name}: {ty:?}");
    }
    let stray = NewTrajectory { termination_reason: Some("why"), ..Default::default() };
    assert!(stray.encode(&Limits::default()).is_ok(), "a reason may stand with any outcome, and without one");
}

/// FAM-14, FAM-19 and FAM-21: what an observation, a run or a decision rests on has a place of its own.
#[test]
fn records_keep_what_they_rest_on() {
    let has =
        |schema: &RecordSchema, names: &[&str]| names.iter().all(|name| schema.field_named(name).is_some());
    let evidence =
        ["input_refs", "environment", "tools", "fixtures", "result", "reproduction", "evaluated_state"];
    assert!(has(Evidence::SCHEMA, &evidence));
    let inputs =
        ["input_trajectories", "input_states", "adopted_changes", "rejected_changes", "unresolved_residuals"];
    assert!(has(Reconciliation::SCHEMA, &inputs));
    assert!(AgentRun::SCHEMA.field_named("conversation_ref").is_some_and(|field| !field.required));
}
