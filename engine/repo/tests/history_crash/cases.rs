//! The commands that are swept: each with the disk and the worktree before it.

use crate::counting::{Cost, Counting};
use crate::world::World;
use gemel_repo::facts::Silent;
use gemel_repo::history::{
    self, BeginOptions, CheckoutOptions, FinishOptions, NameOptions, SnapshotOptions, workspace_remove,
};
use gemel_repo::{InitOptions, Repo, RepoError};
use gemel_store::vfs::Vfs;
use gemel_store::vfs::sim::SimDisk;
use std::sync::Arc;

/// A command as a person gives it; the time is its own, so that it may be given twice.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Init,
    Snapshot(SnapshotOptions),
    Begin(BeginOptions),
    Finish(Box<FinishOptions>),
    Abort,
    Checkout(CheckoutOptions),
    Name(NameOptions),
    RemoveWorkspace(&'static str),
}

impl Command {
    /// Runs it as a process of its own would; the answer as text.
    pub(crate) fn run(&self, world: &World, disk: &SimDisk) -> Result<String, RepoError> {
        self.run_on(world, Arc::new(disk.clone()))
    }

    /// Runs it and counts.
    pub(crate) fn cost(&self, world: &World, disk: &SimDisk) -> Cost {
        let counting = Arc::new(Counting::new(disk));
        self.run_on(world, counting.clone()).unwrap_or_else(|e| panic!("{self:?}: {e}"));
        counting.cost()
    }

    fn run_on(&self, world: &World, disk: Arc<dyn Vfs>) -> Result<String, RepoError> {
        if let Command::Init = self {
            let options = InitOptions { now_ms: 1, ..InitOptions::default() };
            return Ok(format!("{:?}", Repo::init(disk, &world.root, &options)?.config));
        }
        let repo = Repo::open(disk, &world.root)?;
        Ok(match self {
            Command::Init => String::new(),
            Command::Snapshot(options) => format!("{:?}", history::snapshot(&repo, options, &Silent)?),
            Command::Begin(options) => format!("{:?}", history::begin(&repo, options)?),
            Command::Finish(options) => format!("{:?}", history::finish(&repo, options, &Silent)?),
            Command::Abort => format!("{:?}", history::abort(&repo, None, 50)?),
            Command::Checkout(options) => format!("{:?}", history::checkout(&repo, options, &Silent)?),
            Command::Name(options) => format!("{:?}", history::name_set(&repo, options)?),
            Command::RemoveWorkspace(name) => format!("{:?}", workspace_remove(&repo, name, false, 60)?),
        })
    }

    /// Whether the command refuses, and how, when it has been done already.
    pub(crate) fn refuses_again(&self, error: &RepoError) -> bool {
        match self {
            Command::Init => matches!(error, RepoError::AlreadyExists { .. }),
            Command::Begin(_) => matches!(error, RepoError::AlreadyPending { .. }),
            Command::Finish(_) | Command::Abort => matches!(error, RepoError::NothingPending { .. }),
            Command::RemoveWorkspace(_) => matches!(error, RepoError::NoWorkspace { .. }),
            Command::Snapshot(_) | Command::Checkout(_) | Command::Name(_) => false,
        }
    }

    /// Whether nothing refuses it when it has been done already.
    pub(crate) fn repeats(&self) -> bool {
        matches!(self, Command::Snapshot(_) | Command::Checkout(_) | Command::Name(_))
    }
}

/// A command where it is to be run.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) world: World,
    /// The disk before, all of it durable.
    pub(crate) before: SimDisk,
    pub(crate) command: Command,
    /// Of the images that differ, every how many are followed by further commands.
    pub(crate) stride: usize,
    /// Files that prove that the command takes the way it is named after: packs, indexes, ref tables.
    pub(crate) files: (usize, usize, usize),
}

pub(crate) fn snapshot() -> Command {
    Command::Snapshot(SnapshotOptions { now_ms: 10, ..SnapshotOptions::default() })
}

pub(crate) fn begin() -> Command {
    let intent_summary = Some("Do better".to_owned());
    Command::Begin(BeginOptions { intent_summary, now_ms: 20, ..BeginOptions::default() })
}

pub(crate) fn finish() -> Command {
    Command::Finish(Box::new(FinishOptions {
        summary: Some("better".to_owned()),
        evidence: vec!["a.txt|pass|test_result|state=result".to_owned()],
        claims: vec!["a.txt|is better|correctness|evidence=0".to_owned()],
        residuals: vec!["untested|low|verification_gap|claims=0".to_owned()],
        now_ms: 30,
        ..FinishOptions::default()
    }))
}

/// A repository with a snapshot of a few files, and a worktree that differs from it.
pub(crate) fn edited() -> (World, SimDisk) {
    let (world, disk) = World::new();
    Command::Init.run(&world, &disk).unwrap();
    world.write("a.txt", "one\n");
    world.write("b/c.txt", "two\n");
    world.write("b/d/e.txt", "three\n");
    world.write("f/g.txt", "four\n");
    world.settle();
    snapshot().run(&world, &disk).unwrap();
    world.write("a.txt", "one and a half\n");
    world.write("b/d/new.txt", "five\n");
    world.remove("f/g.txt");
    world.settle();
    (world, disk.fork())
}

/// The same with a change begun.
fn begun() -> (World, SimDisk) {
    let (world, disk) = edited();
    begin().run(&world, &disk).unwrap();
    (world, disk.fork())
}

/// Fills the journal, so that the next ref transaction folds it.
fn with_full_journal(disk: &SimDisk, world: &World) -> SimDisk {
    let store = world.open(disk).unwrap();
    for n in 0..2 {
        let mut transaction = store.store().transaction().unwrap();
        transaction.set_record(format!("local/filler/{n}"), vec![b'x'; 40_000]);
        transaction.commit("test", 0).unwrap();
    }
    disk.fork()
}

/// A change begun, a full journal, and so many new files that an index is written; with `lines` enough of each that
/// they make a pack of their own.
fn bulk(lines: usize) -> (World, SimDisk) {
    let (world, disk) = begun();
    for n in 0..2100 {
        world.write(&format!("many/{:02}/{n}.txt", n % 40), &format!("file {n}\n").repeat(lines));
    }
    world.settle();
    let disk = with_full_journal(&disk, &world);
    (world, disk)
}

pub(crate) fn cases() -> Vec<Case> {
    let case = |name, files, (world, before): (World, SimDisk), command| Case {
        name,
        files,
        world,
        before,
        command,
        stride: 1,
    };
    let first = || {
        let (world, disk) = World::new();
        Command::Init.run(&world, &disk).unwrap();
        world.write("a.txt", "one\n");
        world.write("b/c.txt", "two\n");
        world.settle();
        (world, disk.fork())
    };
    let folding = || {
        let (world, disk) = begun();
        let disk = with_full_journal(&disk, &world);
        (world, disk)
    };
    let elsewhere = || {
        let (world, disk) = edited();
        let dir = world.root.parent().unwrap().join("other");
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("z.txt"), "z").unwrap();
        world.settle();
        let options = SnapshotOptions {
            workspace: Some("agent".to_owned()),
            worktree: Some(dir),
            label: Some("mine".to_owned()),
            now_ms: 40,
            ..SnapshotOptions::default()
        };
        (world, disk, options)
    };
    let (other, other_disk, options) = elsewhere();
    let removal = {
        let (world, disk, options) = elsewhere();
        Command::Snapshot(options).run(&world, &disk).unwrap();
        (world, disk.fork())
    };
    let checkout = {
        let (world, disk) = edited();
        snapshot().run(&world, &disk).unwrap();
        (world, disk.fork())
    };
    let to_first = CheckoutOptions { state: "S1".to_owned(), now_ms: 70, ..CheckoutOptions::default() };
    let name =
        NameOptions { id: "S1".to_owned(), name: "good".to_owned(), now_ms: 80, ..NameOptions::default() };
    let named = CheckoutOptions { workspace: Some("agent".to_owned()), ..to_first.clone() };
    let into = {
        let (world, disk) = edited();
        let dir = Some(world.root.parent().unwrap().join("out"));
        (world, disk, CheckoutOptions { dir, ..named })
    };
    let (into_world, into_disk, into_options) = into;
    let bulky = |name, files, made, command| Case { stride: 12, ..case(name, files, made, command) };
    vec![
        Case { stride: 3, ..case("init", (1, 0, 0), World::new(), Command::Init) },
        Case { stride: 3, ..case("init beside exchange material", (1, 0, 0), exchanged(), Command::Init) },
        case("first snapshot", (2, 0, 0), first(), snapshot()),
        case("snapshot after edits", (2, 0, 0), edited(), snapshot()),
        case("snapshot of another workspace", (2, 0, 0), (other, other_disk), Command::Snapshot(options)),
        case("begin", (2, 0, 0), edited(), begin()),
        case("finish", (2, 0, 0), begun(), finish()),
        case("abort", (2, 0, 0), begun(), Command::Abort),
        case("checkout", (2, 0, 0), checkout, Command::Checkout(to_first)),
        case("checkout beside", (2, 0, 0), (into_world, into_disk), Command::Checkout(into_options)),
        case("name", (2, 0, 0), edited(), Command::Name(name)),
        case("removal of a workspace", (2, 0, 0), removal, Command::RemoveWorkspace("agent")),
        case("finish that folds", (2, 0, 1), folding(), finish()),
        bulky("finish of many files, which folds", (2, 1, 1), bulk(1), finish()),
        // It has spent its syncs on a pack; the next command folds.
        bulky("bulk snapshot, which leaves folding to others", (3, 1, 0), bulk(110), snapshot()),
    ]
}

/// A worktree whose `.gemel` holds what git carried there.
fn exchanged() -> (World, SimDisk) {
    let (world, disk) = World::new();
    let exchange = world.store_dir().join("exchange");
    disk.create_dir_all(&exchange).unwrap();
    disk.overwrite(&exchange.join("rollup"), b"kept").unwrap();
    (world, disk.fork())
}

/// Number of files below `.gemel` whose name ends so.
pub(crate) fn count_files(disk: &SimDisk, extension: &str) -> usize {
    disk.files().keys().filter(|path| path.extension().is_some_and(|e| e == extension)).count()
}
