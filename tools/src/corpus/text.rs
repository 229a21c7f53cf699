//! Source text that looks like source text: languages, licence headers, functions made of line templates.

use super::draw::Draw;
use super::words::{Case, Words, join};

/// A kind of text file.
#[derive(Debug)]
pub(crate) struct Language {
    /// File name extension.
    pub(crate) extension: &'static str,
    comment: &'static str,
    case: Case,
    opening: &'static [&'static str],
    lines: &'static [&'static str],
    closing: &'static str,
}

/// Languages and their share of the files, in thousandths.
pub(crate) const LANGUAGES: &[(usize, Language)] = &[
    (
        300,
        Language {
            extension: "ts",
            comment: "// ",
            case: Case::Camel,
            opening: &[
                "export function {l}({l}: {t}, {l}: number): {t} {",
                "export async function {l}({l}: {t}): Promise<{t}> {",
                "export const {l} = ({l}: {t}): {t} => {",
            ],
            lines: &[
                "  const {l} = {l}.{w}({l});",
                "  const {l} = await {l}.{w}({ {w}: {l}, {w}: {n} });",
                "  if ({l}.{w} !== {n}) {",
                "    return {l}.{w}({l});",
                "  }",
                "  {l}.{w} = {l} ?? {n};",
                "  for (const {w} of {l}.{w}) {",
                "    {l}.push({w});",
                "    throw new Error(`{s}: ${{l}}`);",
                "  logger.{w}('{s}', { {l} });",
                "  // {s}",
            ],
            closing: "}",
        },
    ),
    (
        180,
        Language {
            extension: "rs",
            comment: "// ",
            case: Case::Snake,
            opening: &[
                "pub fn {l}(&self, {l}: &{t}) -> Result<{t}, Error> {",
                "fn {l}({l}: &mut {t}, {l}: usize) -> Option<{t}> {",
                "impl {t} {",
            ],
            lines: &[
                "    let {l} = {l}.{w}({l})?;",
                "    let mut {l} = {t}::new({l}, {n});",
                "    if {l}.{w}() > {n} {",
                "        return Err({t}::{t} { {w}: {l} });",
                "    }",
                "    {l}.{w}(&{l});",
                "    for {w} in {l}.iter() {",
                "        {l}.push({w}.clone());",
                "    assert_eq!({l}.{w}(), {n}, \"{s}\");",
                "    // {s}",
                "    debug!(\"{s}: {}\", {l});",
            ],
            closing: "}",
        },
    ),
    (
        130,
        Language {
            extension: "py",
            comment: "# ",
            case: Case::Snake,
            opening: &["def {l}(self, {l}, {l}=None):", "class {t}({t}):", "async def {l}({l}: {t}) -> {t}:"],
            lines: &[
                "    {l} = self.{w}({l})",
                "    {l} = {l}.{w}({w}={l}, {w}={n})",
                "    if {l} is None:",
                "        raise ValueError(\"{s}\")",
                "    for {w} in {l}.{w}:",
                "        {l}.append({w})",
                "    self.{l}[\"{w}\"] = {n}",
                "    assert {l}.{w} == {n}, \"{s}\"",
                "    # {s}",
                "    return {l}",
            ],
            closing: "",
        },
    ),
    (
        100,
        Language {
            extension: "go",
            comment: "// ",
            case: Case::Camel,
            opening: &[
                "func ({w} *{t}) {t}({l} *{t}) (*{t}, error) {",
                "func {l}({l} string, {l} int) error {",
            ],
            lines: &[
                "\t{l}, err := {l}.{t}(ctx, {l})",
                "\tif err != nil {",
                "\t\treturn nil, fmt.Errorf(\"{s}: %w\", err)",
                "\t}",
                "\t{l}.{t} = {n}",
                "\tfor _, {w} := range {l}.{t} {",
                "\t\t{l} = append({l}, {w})",
                "\t// {s}",
                "\treturn {l}, nil",
            ],
            closing: "}",
        },
    ),
    (
        60,
        Language {
            extension: "c",
            comment: " * ",
            case: Case::Snake,
            opening: &[
                "static int {l}(struct {l} *{l}, size_t {l})\n{",
                "void {l}(const char *{l}, unsigned {l})\n{",
            ],
            lines: &[
                "\tstruct {l} *{l} = {l}({l}, {n});",
                "\tif (!{l} || {l}->{w} < {n})",
                "\t\treturn -{n};",
                "\t{l}->{w} = {l}->{w} + {n};",
                "\tfor (i = 0; i < {l}->{w}; i++)",
                "\t\t{l}({l}[i], \"{s}\");",
                "\tmemcpy({l}, {l}, sizeof(*{l}));",
                "\t/* {s} */",
            ],
            closing: "}",
        },
    ),
    (
        70,
        Language {
            extension: "json",
            comment: "",
            case: Case::Camel,
            opening: &["  \"{l}\": {"],
            lines: &[
                "    \"{w}\": \"{l}\",",
                "    \"{w}\": {n},",
                "    \"{w}\": [\"{w}\", \"{w}\"],",
                "    \"description\": \"{s}\",",
                "    \"version\": \"{n}.{n}.{n}\",",
            ],
            closing: "  },",
        },
    ),
    (
        60,
        Language {
            extension: "md",
            comment: "",
            case: Case::Kebab,
            opening: &["## {s}\n", "### `{l}`\n"],
            lines: &["{s} {s} {s}", "{s} `{l}` {s}", "- {s}", "- `{l}`: {s}", "", "{s}, {s} {s} {s}"],
            closing: "",
        },
    ),
    (
        40,
        Language {
            extension: "yaml",
            comment: "# ",
            case: Case::Kebab,
            opening: &["{l}:", "- name: {l}"],
            lines: &["  {w}: {l}", "  {w}: {n}", "  {w}: \"{s}\"", "  # {s}", "  {w}:", "    - {l}"],
            closing: "",
        },
    ),
    (
        30,
        Language {
            extension: "css",
            comment: " * ",
            case: Case::Kebab,
            opening: &[".{l} {", ".{l} > .{l}:hover {"],
            lines: &[
                "  margin-{w}: {n}px;",
                "  --{l}: var(--{l});",
                "  padding: {n}px {n}px;",
                "  /* {s} */",
            ],
            closing: "}",
        },
    ),
    (
        30,
        Language {
            extension: "sh",
            comment: "# ",
            case: Case::Snake,
            opening: &["{l}() {"],
            lines: &[
                "  local {l}=\"${{l}}\"",
                "  {w} --{w} \"${l}\" || return {n}",
                "  echo \"{s}\" >&2",
                "  # {s}",
            ],
            closing: "}",
        },
    ),
];

const LICENCES: &[&[&str]] = &[
    &[
        "Copyright (c) the project authors. All rights reserved.",
        "Use of this source code is governed by the licence that can be",
        "found in the LICENSE file at the root of this source tree.",
    ],
    &[
        "Part of the platform libraries.",
        "",
        "Licensed under the Apache License, Version 2.0 (the \"License\");",
        "you may not use this file except in compliance with the License.",
        "Unless required by applicable law or agreed to in writing, software",
        "distributed under the License is distributed on an \"AS IS\" BASIS,",
        "WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.",
    ],
    &["SPDX-License-Identifier: MIT OR Apache-2.0"],
];

/// What makes one text file: two files of equal `base` are versions of each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextFile {
    /// Index into [`LANGUAGES`].
    pub(crate) language: usize,
    /// Length aimed at; the file ends at the last whole line within it.
    pub(crate) size_bytes: usize,
    /// Seed of the text.
    pub(crate) base: u64,
    /// Seed of the differences from the other files of the same base; 0 for none.
    pub(crate) variant: u64,
    /// Seed of the package: its licence and its topic words.
    pub(crate) package: u64,
}

/// The identifiers and types a file keeps coming back to.
struct Names {
    locals: Vec<String>,
    types: Vec<String>,
}

impl Names {
    fn of(file: &TextFile, case: Case, words: &Words) -> Names {
        let mut topic = Draw::of(file.package, 2);
        let topics: Vec<&str> = (0..40).map(|_| words.any(&mut topic)).collect();
        let mut rng = Draw::of(file.base, 3);
        let name = |rng: &mut Draw, case: Case| {
            let mut parts = vec![rng.pick(&topics)];
            for _ in 0..rng.below(3) {
                parts.push(words.draw(rng));
            }
            join(&parts, case)
        };
        let wanted = 6 + (file.size_bytes / 400).min(120);
        Names {
            locals: (0..wanted).map(|_| name(&mut rng, case)).collect(),
            types: (0..wanted / 3 + 2).map(|_| name(&mut rng, Case::Pascal)).collect(),
        }
    }
}

/// The bytes of a text file.
pub(crate) fn text(file: &TextFile, words: &Words) -> Vec<u8> {
    let language = &LANGUAGES[file.language].1;
    let names = Names::of(file, language.case, words);
    let mut out = String::with_capacity(file.size_bytes + 4096);
    licence(&mut out, language, file.package);
    let mut block = 0;
    while out.len() < file.size_bytes {
        let mut rng = Draw::of(file.base, 1000 + block);
        if file.variant != 0 {
            let mut other = Draw::of(file.variant, 1000 + block);
            // One early function differs for certain, so that no two versions are equal.
            if other.chance(120) || block == file.variant % 3 {
                rng = other;
            }
        }
        function(&mut out, language, &names, words, &mut rng);
        block += 1;
    }
    let mut bytes = out.into_bytes();
    let end = bytes[..file.size_bytes].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    bytes.truncate(end);
    bytes
}

fn licence(out: &mut String, language: &Language, package: u64) {
    if language.comment.is_empty() {
        return;
    }
    let block = language.comment == " * ";
    out.push_str(if block { "/*\n" } else { "" });
    for line in Draw::of(package, 4).pick(LICENCES) {
        out.push_str(language.comment);
        out.push_str(line);
        out.push('\n');
    }
    out.push_str(if block { " */\n\n" } else { "\n" });
}

fn function(out: &mut String, language: &Language, names: &Names, words: &Words, rng: &mut Draw) {
    if !language.comment.is_empty() && rng.chance(500) {
        let lead = if language.comment == " * " { "// " } else { language.comment };
        for _ in 0..rng.between(1, 2) {
            expand(out, lead, names, words, rng);
            sentence(out, words, rng);
            out.push('\n');
        }
    }
    expand(out, rng.pick(language.opening), names, words, rng);
    out.push('\n');
    for _ in 0..rng.between(2, 14) {
        expand(out, rng.pick(language.lines), names, words, rng);
        out.push('\n');
    }
    out.push_str(language.closing);
    out.push_str("\n\n");
}

/// Writes a template: `{l}` a local name, `{t}` a type, `{w}` a word, `{n}` a number, `{s}` a few words.
fn expand(out: &mut String, template: &str, names: &Names, words: &Words, rng: &mut Draw) {
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, hole) = rest.split_at(at);
        out.push_str(before);
        match hole.as_bytes() {
            [b'{', b'l', b'}', ..] => out.push_str(near(&names.locals, rng)),
            [b'{', b't', b'}', ..] => out.push_str(near(&names.types, rng)),
            [b'{', b'w', b'}', ..] => out.push_str(words.draw(rng)),
            [b'{', b'n', b'}', ..] => number(out, rng),
            [b'{', b's', b'}', ..] => sentence(out, words, rng),
            _ => {
                out.push('{');
                rest = &hole[1..];
                continue;
            }
        }
        rest = &hole[3..];
    }
    out.push_str(rest);
}

/// One of a file's names; the first ones far more often than the last ones.
fn near<'a>(names: &'a [String], rng: &mut Draw) -> &'a str {
    let bound = rng.below(names.len()) + 1;
    &names[rng.below(bound)]
}

fn number(out: &mut String, rng: &mut Draw) {
    const USUAL: [&str; 8] = ["0", "1", "2", "8", "10", "16", "100", "1024"];
    if rng.chance(800) {
        out.push_str(rng.pick(&USUAL));
    } else {
        out.push_str(&rng.below(100_000).to_string());
    }
}

fn sentence(out: &mut String, words: &Words, rng: &mut Draw) {
    for i in 0..rng.between(3, 8) {
        if i > 0 {
            out.push(' ');
        }
        out.push_str(words.draw(rng));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        assert_eq!(LANGUAGES.iter().map(|(share, _)| share).sum::<usize>(), 1000);
    }

    #[test]
    fn a_variant_shares_most_lines() {
        let words = Words::new(1);
        let file = TextFile { language: 1, size_bytes: 8000, base: 5, variant: 0, package: 6 };
        let first = text(&file, &words);
        let second = text(&TextFile { variant: 77, ..file }, &words);
        assert!(first != second, "the variant is the same");
        let lines = |bytes: &[u8]| -> std::collections::BTreeSet<String> {
            String::from_utf8_lossy(bytes).lines().map(str::to_string).collect()
        };
        let (first, second) = (lines(&first), lines(&second));
        let shared = first.intersection(&second).count();
        assert!(shared * 2 > first.len(), "{shared} of {}", first.len());
    }

    #[test]
    fn every_language_gives_whole_lines() {
        let words = Words::new(2);
        for language in 0..LANGUAGES.len() {
            let bytes =
                text(&TextFile { language, size_bytes: 3000, base: 1, variant: 0, package: 2 }, &words);
            assert!(bytes.len() > 2600 && bytes.len() <= 3000, "{language}: {}", bytes.len());
            assert_eq!(bytes.last(), Some(&b'\n'));
        }
    }
}
