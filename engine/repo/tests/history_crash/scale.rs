//! What the thousandth small command costs, and the first one beside 100,000 refs: disk operations, not time.

use crate::cases::{Command, begin, edited, finish, snapshot};
use crate::counting::Cost;
use crate::world::World;
use gemel_repo::history::NameOptions;
use gemel_store::vfs::sim::SimDisk;

/// Commands of a round.
const EACH: usize = 4;

/// One round of small commands: what each cost.
fn round(world: &World, disk: &SimDisk, n: usize) -> [Cost; EACH] {
    world.write("a.txt", &format!("round {n}\n"));
    let name = NameOptions { id: "refs/head".into(), name: format!("round-{n}"), ..NameOptions::default() };
    [begin(), finish(), snapshot(), Command::Name(name)].map(|command| command.cost(world, disk))
}

#[test]
fn a_thousand_small_commands_leave_a_handful_of_files() {
    let (world, disk) = edited();
    let costs: Vec<_> = (0..1000 / EACH).map(|n| round(&world, &disk, n)).collect();
    for (n, cost) in costs.iter().flatten().enumerate() {
        let most = Cost { writes: 18, reads: 64, read_bytes: 2 << 20 };
        assert_eq!(cost.max(most), most, "command {n}");
    }
    // The hundreds before a fold of the journal and those after it cost about the same.
    let sum = |of: &[[Cost; EACH]], what: fn(&Cost) -> u64| of.iter().flatten().map(what).sum::<u64>();
    for what in [|cost: &Cost| cost.writes, |cost: &Cost| cost.reads] {
        let (early, late) = (sum(&costs[..64], what), sum(&costs[250 - 64..], what));
        assert!(late < early + early / 2, "{early} {late}");
    }
    let files: Vec<_> = disk.files().into_keys().collect();
    let within =
        |dir: &str| files.iter().filter(|path| path.starts_with(world.store_dir().join(dir))).count();
    let counts = ["packs", "refdb", "cache"].map(within);
    // A pack, its index, a lock; a few tables, a journal and their list; a stat cache and the clock file.
    assert!(counts[0] <= 3 && counts[1] <= 8 && counts[2] <= 2, "{counts:?} {files:?}");
    world.check_whole(&disk, "after a thousand commands");
}

#[test]
fn many_refs_cost_a_command_nothing() {
    let (world, few) = edited();
    let many = few.fork();
    let repo = world.open(&many).unwrap();
    let state = repo.store().refs().unwrap().get("refs/names/S1").unwrap().unwrap();
    let mut transaction = repo.store().transaction().unwrap();
    for n in 0..100_000 {
        transaction.set(format!("refs/names/label-{n}"), state);
    }
    transaction.commit("test", 0).unwrap();
    let many = many.fork();
    for n in 0..3 {
        let costs = round(&world, &few, n).into_iter().zip(round(&world, &many, n));
        for (few, many) in costs {
            // One table more to look at each time the refs are opened.
            let most = Cost { writes: few.writes, reads: few.reads + 8, read_bytes: few.read_bytes + 4096 };
            assert_eq!(many.max(most), most, "round {n}: {few:?}");
        }
    }
}
