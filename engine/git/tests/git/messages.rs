//! People, dates, messages and headers.

use crate::cases::{case, run};
use crate::fixture::Git;

/// One commit with this after its tree line, on one that is ordinary.
fn one(rest: &[u8]) -> Git {
    let git = Git::new();
    let tree = git.small_tree();
    let root = git.commit(&tree, &[], "root");
    let rest = [format!("parent {root}\n").as_bytes(), rest].concat();
    git.set("refs/heads/main", &git.raw_commit(&tree, &rest));
    git
}

/// One commit by this author.
fn by(author: &[u8]) -> Git {
    one(&[b"author ", author, b"\ncommitter C <c@x> 5 +0000\n\nm\n"].concat())
}

/// One commit with this message.
fn says(message: &[u8]) -> Git {
    headed(b"", message)
}

/// One commit with these headers after the people.
fn headed(headers: &[u8], message: &[u8]) -> Git {
    one(&[b"author A <a@x> 5 +0000\ncommitter C <c@x> 5 +0000\n", headers, b"\n", message].concat())
}

#[test]
fn people_and_dates() {
    run(vec![
        case("zone of six digits", || by(b"A <a@x> 5 +051800")).head("\"m\" by \"A <a@x>\" at Some(5000): f"),
        case("zone with two signs", || by(b"A <a@x> 5 --700")).head("\"m\" by \"A <a@x>\" at Some(5000): f"),
        case("zone -0000", || by(b"A <a@x> 5 -0000")).head("\"m\" by \"A <a@x>\" at Some(5000): f"),
        case("no zone", || by(b"A <a@x> 5")).head("\"m\" by \"A <a@x>\" at Some(0): f"),
        case("no time", || by(b"A <a@x>")).head("\"m\" by \"A <a@x>\" at Some(0): f"),
        case("before 1970", || by(b"A <a@x> -5 +0000")).head("\"m\" by \"A <a@x>\" at Some(-5000): f"),
        case("after 2200", || by(b"A <a@x> 7500000000 +0000"))
            .head("\"m\" by \"A <a@x>\" at Some(7500000000000): f"),
        case("latest time", || by(b"A <a@x> 9223372036854775807 +0000"))
            .head("\"m\" by \"A <a@x>\" at Some(9223372036854775807): f"),
        case("earliest time", || by(b"A <a@x> -9223372036854775808 +0000"))
            .head("\"m\" by \"A <a@x>\" at Some(-9223372036854775808): f"),
        case("time beyond all numbers", || by(b"A <a@x> 99999999999999999999 +0000"))
            .head("\"m\" by \"A <a@x>\" at Some(0): f"),
        case("no name", || by(b"<a@x> 5 +0000")).head("\"m\" by \"unknown <a@x>\" at Some(5000): f"),
        case("no address", || by(b"A <> 5 +0000")).head("\"m\" by \"A\" at Some(5000): f"),
        case("no name and no address", || by(b"<> 5 +0000")).head("\"m\" by \"unknown\" at Some(5000): f"),
        case("no bracket", || by(b"A 5 +0000")).head("\"m\" by \"A 5 +0000\" at Some(5000): f"),
        case("bracket left open", || by(b"A <a@x 5 +0000"))
            .head("\"m\" by \"A <a@x 5 +0000>\" at Some(5000): f"),
        case("brackets in brackets", || by(b"A <a <b> c> 5 +0000"))
            .head("\"m\" by \"A <a>\" at Some(5000): f"),
        case("tabs", || by(b"\tA\tB <a@x>\t5\t+0000")).head("\"m\" by \"A\\tB <a@x>\" at Some(0): f"),
        case("NUL in a name", || by(b"A\0B <a@x> 5 +0000")).head("\"m\" by \"A\\0B <a@x>\" at Some(5000): f"),
        case("name not UTF-8", || by(b"Ad\xe9 <a@x> 5 +0000"))
            .head("\"m\" by \"Ad\u{fffd} <a@x>\" at Some(5000): f"),
        case("two authors", || by(b"A <a@x> 5 +0000\nauthor B <b@x> 6 +0000"))
            .head("\"m\" by \"B <b@x>\" at Some(6000): f"),
        case("no author", || one(b"committer C <c@x> 5 +0000\n\nm\n"))
            .head("\"m\" by \"unknown\" at Some(0): f"),
        case("a whole name of brackets", || by(b"<<<>>> 5 +0000"))
            .head("\"m\" by \"unknown\" at Some(5000): f"),
    ]);
}

#[test]
fn messages_and_headers() {
    const SIGNATURE: &[u8] =
        b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEz=\n -----END PGP SIGNATURE-----\nx-extra foo\n";
    run(vec![
        case("encoding", || headed(b"encoding ISO-8859-1\n", b"caf\xe9\n"))
            .head("\"caf\u{fffd}\" by \"A <a@x>\" at Some(5000): f"),
        case("signature", || headed(SIGNATURE, b"m\n")).head("\"m\" by \"A <a@x>\" at Some(5000): f"),
        case("signed merge of a tag", signed_merge).head("\"m\" by \"A <a@x>\" at Some(7000): f"),
        case("no final newline", || says(b"m")).head("\"m\" by \"A <a@x>\" at Some(5000): f"),
        case("only newlines", || says(b"\n\n\n\n")).head("\"\" by \"A <a@x>\" at Some(5000): f"),
        case("one newline", || says(b"\n")).head("\"imported change\" by \"A <a@x>\" at Some(5000): f"),
        case("empty message", || says(b"")).head("\"imported change\" by \"A <a@x>\" at Some(5000): f"),
        case("headers end the object", || one(b"author A <a@x> 5 +0000\ncommitter C <c@x> 5 +0000"))
            .head("\"imported change\" by \"A <a@x>\" at Some(5000): f"),
        case("CRLF", || says(b"one\r\n\r\ntwo\r\n")).head("\"one\" by \"A <a@x>\" at Some(5000): f"),
        case("CR in headers", || {
            one(b"author A\rB <a@x> 5 +0000\r\ncommitter C <c@x> 5 +0000\r\nx \r\n\nm\n")
        })
        .head("\"m\" by \"A\\rB <a@x>\" at Some(5000): f"),
        case("NUL in a message", || says(b"one\0two\nthree\0\n"))
            .head("\"one\\0two\" by \"A <a@x>\" at Some(5000): f"),
        case("message of spaces", || says(b"   \n")).head("\"   \" by \"A <a@x>\" at Some(5000): f"),
        case("message like headers", || says(b"parent x\nauthor B <b> 7 +0\n"))
            .head("\"parent x\" by \"A <a@x>\" at Some(5000): f"),
        case("a long message", || says(&b"word ".repeat(200_000))),
        case("another tree line", || headed(b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n", b"m\n"))
            .head("\"m\" by \"A <a@x>\" at Some(5000): f")
            .unlike_0_12(),
    ]);
}

fn signed_merge() -> Git {
    let git = Git::new();
    let tree = git.small_tree();
    let root = git.commit(&tree, &[], "root");
    let side = git.commit_at(&tree, &[&root], 6, "side");
    let tag = git.tag(&side, "commit", "v1");
    let body = String::from_utf8(git.feed(&["cat-file", "tag", &tag], b"")).unwrap();
    let merged = format!(
        "parent {root}\nparent {side}\nauthor A <a@x> 7 -0330\ncommitter C <c@x> 8 +1245\nmergetag {}\ngpgsig a\n b\n\nm\n",
        body.trim_end().replace('\n', "\n ")
    );
    git.set("refs/heads/main", &git.raw_commit(&tree, merged.as_bytes()));
    git
}
