//! What release 0.12 makes of odd commits, found by running it: the identity of the change of a history with this one
//! commit, whose tree holds the file `f` with the text `x`. They are wire facts and never change.

use crate::fixture::Git;
use crate::gemel::Gemel;
use crate::peer::Peer;

/// Author lines.
#[rustfmt::skip]
const AUTHORS: &[(&[u8], &str)] = &[
    (b"Ada <ada@x> 1000000000 +0000", "4bb0e9dc3df6f03161c35cd40fcb8389eacf08b52eed355400247093fb2795f0"),
    (b"Ada 1000000000 +0000", "843987ad31c38a25f3744fc6d373b9f220edf90d129feb59487fe347021d4fd3"),
    (b"Ada> 1000000000 +0000", "be939d23bad98a926553c04214afdd8721e5d4cb589af5106c12d7c891237fe6"),
    (b"A > B <ada@x> 1000000000 +0000", "cd9c76fa640498e24900a7f557123a24c7a80ca1b1194d8354330d9370005870"),
    (b"Ada <ada@x 1000000000 +0000", "7ba5721d6a7ff22ede226fa1e095cf602a6fb6bb80b2161b287eadd2b2dce543"),
    (b"Ada <<a@x>> 1000000000 +0000", "9809296f0668a59029bbdf25948b0d6eefbe06892a60937815547c3b7d647c7d"),
    (b"Ada <a <b> c> 1000000000 +0000", "cdc2f1dc6f012f9029073c5dc71392d91104ba0ddfb493a3adf16ec32a12f4cb"),
    (b"Ada <a@x> <b@y> 1000000000 +0000", "3425f6be1ae63ac9395556f047476ce2a316ce6b57fc7af16bfc14a4b8b07594"),
    (b"Ada <a@x>  1000000000  +0000", "ecd28707687ec6c91da74c25ac09ab4e471c960f204db3db15dc9e51387d5a8d"),
    (b"Ada <a@x> 1000000000  +0000", "ecd28707687ec6c91da74c25ac09ab4e471c960f204db3db15dc9e51387d5a8d"),
    (b"Ada <a@x> 1000000000 +0000 ", "ecd28707687ec6c91da74c25ac09ab4e471c960f204db3db15dc9e51387d5a8d"),
    (b"Ada <a@x>\t1000000000\t+0000", "ecd28707687ec6c91da74c25ac09ab4e471c960f204db3db15dc9e51387d5a8d"),
    (b"\tAda\tL\t <a@x> 1000000000 +0000", "0c341c41db9e50449060ff5c202ce44de63d79fea3ff69bcaa8e4829133fde40"),
    (b"Ada <a@x>", "ecd28707687ec6c91da74c25ac09ab4e471c960f204db3db15dc9e51387d5a8d"),
    (b"Ada <a@x> ", "ecd28707687ec6c91da74c25ac09ab4e471c960f204db3db15dc9e51387d5a8d"),
    (b"Ada <a@x> 1000000000", "ecd28707687ec6c91da74c25ac09ab4e471c960f204db3db15dc9e51387d5a8d"),
    (b"Ada <a@x> +0000", "ecd28707687ec6c91da74c25ac09ab4e471c960f204db3db15dc9e51387d5a8d"),
    (b"Ada <a@x> +1000000000 +0000", "3425f6be1ae63ac9395556f047476ce2a316ce6b57fc7af16bfc14a4b8b07594"),
    (b"Ada <a@x> -1000000000 +0000", "c2ee6e239d01de27405c65bcbe502e94ef933c0a1abba094ef106586b06ef814"),
    (b"Ada <a@x> 1000000000.5 +0000", "ecd28707687ec6c91da74c25ac09ab4e471c960f204db3db15dc9e51387d5a8d"),
    (b"Ada <a@x> 9223372036854775807 +0000", "5183ef5b5dc7ca257b2b929a3da83b8b165c1f5cd61b1b59e60be0e118f2ee5c"),
    (b"Ada <a@x> -9223372036854775808 +0000", "94373d8ecb01c4fcdf4c115bc42dc8d6bf34d2969a0628bd3c6d1904d8640c8c"),
    (b"Ada <a@x> 9223372036854775808 +0000", "ecd28707687ec6c91da74c25ac09ab4e471c960f204db3db15dc9e51387d5a8d"),
    (b"Ada <a@x> 9223372036854776 +0000", "5183ef5b5dc7ca257b2b929a3da83b8b165c1f5cd61b1b59e60be0e118f2ee5c"),
    (b"Ada <a@x> 1000000000 +051800", "3425f6be1ae63ac9395556f047476ce2a316ce6b57fc7af16bfc14a4b8b07594"),
    (b"Ada <a@x> 1000000000 --700", "3425f6be1ae63ac9395556f047476ce2a316ce6b57fc7af16bfc14a4b8b07594"),
    (b"", "b16fe641207d2306f46da496a85c3ab0370a08c739f906daf95983130cede747"),
    (b"Ada", "35c513195d5b8d383648479bb7dfcdf1e7e6197421d39041584fd57c5c35a45c"),
    (b"7 +0000", "e4de4612ebd04ee235aa094808a420e0139512061178f450161010aa757ed6bf"),
    (b"Ada <> 1000000000 +0000", "9809296f0668a59029bbdf25948b0d6eefbe06892a60937815547c3b7d647c7d"),
    (b"Ada < > 1000000000 +0000", "9809296f0668a59029bbdf25948b0d6eefbe06892a60937815547c3b7d647c7d"),
    (b"Ada < a@x > 1000000000 +0000", "3425f6be1ae63ac9395556f047476ce2a316ce6b57fc7af16bfc14a4b8b07594"),
    (b"<a@x> 1000000000 +0000", "ab4e802c6bae1223096f061b82e4f497dbfd87c0f1af9fca59d6db762dc39ee2"),
    (b"   <a@x> 1000000000 +0000", "ab4e802c6bae1223096f061b82e4f497dbfd87c0f1af9fca59d6db762dc39ee2"),
    (b"<> 1000000000 +0000", "2c1f968504957889299de9e63f2547525e964a6e196d42659a825ba2bf32dea2"),
    (b"unknown <> 1000000000 +0000", "2c1f968504957889299de9e63f2547525e964a6e196d42659a825ba2bf32dea2"),
    (b"unknown <u@x> 1000000000 +0000", "6946a4ab4ea20dd2d510f4700faec0d8cea21b6b0ca90145ec19d0dcbc4bfb9a"),
    (b"A\0da <a@x> 1000000000 +0000", "b2a2e7f2a536c0ad9dd72655ff8be1b620ccddd35a6df2705bdfb8c46333b841"),
    (b"A\rda <a@x> 1000000000 +0000", "37fd1c53debe0cf95d8ad8605620f494f11f057c6e063b9aacddf53e5446f5bb"),
    (b"Ada <a@x> 1000000000 +0000\r", "3425f6be1ae63ac9395556f047476ce2a316ce6b57fc7af16bfc14a4b8b07594"),
    (b"\xc2\xa0Ada\xe2\x80\x83 <a@x> 1000000000 +0000", "3425f6be1ae63ac9395556f047476ce2a316ce6b57fc7af16bfc14a4b8b07594"),
    (b"Ad\xe9\xe8 <a@x> 1000000000 +0000", "67d0a7bc84c472ca6cdd560912005213b147df7c92d657c941b38567da6fb49d"),
    (b"Ad\xe2\x82 \xf0\x9f\x98 <a@x> 1000000000 +0000", "10851d3147c34aa45b3a7442ba26b481b54431060f3756eb8a9840a1e06e8acb"),
    (b"\xef\xbb\xbfAda <a@x> 1000000000 +0000", "bfb85e57e120ed843ff4fc672daea21171d232772a42ef2dd1449d35a0f96989"),
    (b"\x0bAda\x0c <a@x> 1000000000 +0000", "3425f6be1ae63ac9395556f047476ce2a316ce6b57fc7af16bfc14a4b8b07594"),
    (b"Ada\xc2\x85 <a@x> 1000000000 +0000", "3425f6be1ae63ac9395556f047476ce2a316ce6b57fc7af16bfc14a4b8b07594"),
    (b"A <x> y > 5 +0000", "c2fe2790575000bcdd70400484448bbda65e024d5ed601487785ae4b7e3ef017"),
    (b"A < <> 5 +0000", "585de996609d9c4932d333a3548ac3094ce8aa515601613eb431a854c7f8f46d"),
    (b"Ada <a@x> -0 +0000", "ecd28707687ec6c91da74c25ac09ab4e471c960f204db3db15dc9e51387d5a8d"),
    (b"Ada <a@x> 0000001000000000 +0000", "3425f6be1ae63ac9395556f047476ce2a316ce6b57fc7af16bfc14a4b8b07594"),
    (b"Ada <a@x> 0x10 +0000", "ecd28707687ec6c91da74c25ac09ab4e471c960f204db3db15dc9e51387d5a8d"),
    (b"Ada <a@x> +5 +0000", "24b2bf27e5ae0798d4a3a14a6a8b2a355312e53f2eee5df60739b9cb858baaed"),
    (b"Ada <a@x> \xd9\xa1\xd9\xa2 +0000", "ecd28707687ec6c91da74c25ac09ab4e471c960f204db3db15dc9e51387d5a8d"),
    (b"< > 5 +0000", "63d65c46287238f446269ca3305459b0220db71932d386c0a042fd5c486d563b"),
    (b"Ada <a@x\0> 5 +0000", "3e4766d1edd00ce0266db83d6b03682987508c7985956e9bd86db99797ab1b3f"),
    (b"Ada <a@x> 5 +0000 extra words", "ecd28707687ec6c91da74c25ac09ab4e471c960f204db3db15dc9e51387d5a8d"),
];

/// Messages.
#[rustfmt::skip]
const MESSAGES: &[(&[u8], &str)] = &[
    (b"", "6e34c642d0745bd38a1626c2eaaa250e6bb85a5be5371fa41d3b0b78ae7eee92"),
    (b"\n", "6e34c642d0745bd38a1626c2eaaa250e6bb85a5be5371fa41d3b0b78ae7eee92"),
    (b"\n\n", "6e34c642d0745bd38a1626c2eaaa250e6bb85a5be5371fa41d3b0b78ae7eee92"),
    (b"\n\n\n", "4b87a8933799b6d844e1fbbc2ee0235f980cd34b78b0abc70c48550b95d12c5d"),
    (b"subject", "ed63d560d7a9d38764d1da6fee6a447468b78c630b71564f35886635a6b06ef5"),
    (b"\nlate\n", "4b87a8933799b6d844e1fbbc2ee0235f980cd34b78b0abc70c48550b95d12c5d"),
    (b"s\r\n\r\nbody\r\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\rt\n", "30cbe06e122e56060494d60393a65c97f5d2dc1fe9e0645b15b606e41922c05b"),
    (b"s\r", "9059a86ceda09fb910ec50f50986d002ccd08f82d6c8f89960f46f40f553caa8"),
    (b"s\r\r\nx\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\0t\nx\n", "aa68ab09d2428bb02207e5a10facb40c82d55f130284243926685167faa0d52a"),
    (b"  s  \n", "71074857fb127e0ceb2b56bd92fc7455d157835844896e1c259262edd97193b1"),
    (b"   \n", "f8f795dde2bcc7c72862e1cf60b967c361c35f5029a079c07324b375ef921f06"),
    (b"\ts\t\n", "a26f8a3d93643cedb27a0d3067ebdb60b8e5b69192e7560a3a6213d19f064095"),
    (b"a\xe2\x80\xa8b\xc2\x85c\n", "730d81e23139032f7fa05b94b0c31d00194a38e20a3cb5acdbee8c884ce9d5b2"),
    (b"a\x0bb\x0cc\n", "f959a6ea80ad1c713fe94bbb4bbc10e86806b46173f7a87689a62a08f0c0df42"),
    (b"GEMEL-CHANGE: x\n", "6e34c642d0745bd38a1626c2eaaa250e6bb85a5be5371fa41d3b0b78ae7eee92"),
    (b"s\n\nGEMEL-CHANGE: change.0000000000000000000000000000000000000000000000000000000000000000\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\ngemel-change: x\nGemel-Intent: y\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\n  GEMEL-CHANGE : x\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\n\tGEMEL-X\t:\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nGEMEL-CHANGE\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nGEMEL-CHANGE: x\n\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nGEMEL-CHANGE: x\n \n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nGEMEL-CHANGE: x\nother: y\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nother: y\nGEMEL-CHANGE: x\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\nGEMEL-CHANGE: x\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"GEMEL-FOO: subject\n\nGEMEL-CHANGE: x\n", "9c322b52da7eefebf68f8289a1a2226c67d33e859039c4696152722ee0dd8941"),
    (b"GEMEL-A: 1\n\nGEMEL-B: 2\n\nGEMEL-C: 3\n", "5809ece5950c68583fd9211e647d73f360c11749b3bce2eb02d2633187bc4d10"),
    (b"GEMEL-A: 1\nGEMEL-B: 2\n", "6e34c642d0745bd38a1626c2eaaa250e6bb85a5be5371fa41d3b0b78ae7eee92"),
    (b"\nGEMEL-A: 1\n", "6e34c642d0745bd38a1626c2eaaa250e6bb85a5be5371fa41d3b0b78ae7eee92"),
    (b"\n\nGEMEL-A: 1\n", "4b87a8933799b6d844e1fbbc2ee0235f980cd34b78b0abc70c48550b95d12c5d"),
    (b" \nGEMEL-A: 1\n", "5f97265c0e0b71bb28044f6aa73642aa557c6bc0d06ee7d6bd0fe1b8e7b37581"),
    (b"s\r\n\r\nGEMEL-CHANGE: x\r\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nGEMEL-: x\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nGEMELX: x\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nGEMEL-\xc4\xb1: x\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\n: GEMEL-x\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nGEMEL-EXPORT-VERSION: 99\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\n\xc2\xa0GEMEL-X: x\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\n\xc5\xbfemel-x: 1\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"gemel-http://x\n", "6e34c642d0745bd38a1626c2eaaa250e6bb85a5be5371fa41d3b0b78ae7eee92"),
    (b"GEMEL-CHANGE: x\n\n", "6e34c642d0745bd38a1626c2eaaa250e6bb85a5be5371fa41d3b0b78ae7eee92"),
    (b"GEMEL-CHANGE: x\n\n\n", "80583eacba16e03b7d6d906b4ca8eec7b6fdc4e1a280a44edd02fdd066fade86"),
    (b"s\r\r\r\nx\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\r\r\r\r\nx\n", "9059a86ceda09fb910ec50f50986d002ccd08f82d6c8f89960f46f40f553caa8"),
    (b"\r\n\r\n", "6e34c642d0745bd38a1626c2eaaa250e6bb85a5be5371fa41d3b0b78ae7eee92"),
    (b"\r\r\n", "89d0648d6528e73225060ec5a70b30926313ab668d0a9f7ad9748da28f2fb1f8"),
    (b"s\n\nGEMEL-CHANGE: x\nGEMEL-CHANGE: y\nGEMEL-EXPORT-VERSION: 2\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nGEMEL-EXPORT-VERSION:1\nGEMEL-EXPORT-VERSION: 01\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nGEMEL-CHANGE:\nGEMEL-CHANGE: a:b\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nGEMEL-CHANGE : x\n gemel-change:y\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nGEMEL-CHANGE: x\n\t\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nGEMEL-CHANGE: x\r\r\n\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"\r", "89d0648d6528e73225060ec5a70b30926313ab668d0a9f7ad9748da28f2fb1f8"),
    (b"\r\n", "6e34c642d0745bd38a1626c2eaaa250e6bb85a5be5371fa41d3b0b78ae7eee92"),
    (b"s\n\nGEMEL-EXPORT-VERSION\n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"s\n\nGEMEL-EXPORT-VERSION: \n", "e66755c6f3385ddd9395fb7fcf110aefa27c505a70ef5714ae03282ef6218552"),
    (b"parent x\nauthor Eve <e> 7 +0\n", "c870b4ab44114fd6d9e7bfe868d5cecbd18cfaadde1ae365f9ba8afe0e85481b"),
];

/// Everything after the tree line.
#[rustfmt::skip]
const COMMITS: &[(&[u8], &str)] = &[
    (b"committer C <c@x> 5 +0000\n\nm\n", "b16fe641207d2306f46da496a85c3ab0370a08c739f906daf95983130cede747"),
    (b"author\ncommitter C <c@x> 5 +0000\n\nm\n", "b16fe641207d2306f46da496a85c3ab0370a08c739f906daf95983130cede747"),
    (b"author Ada <a@x> 1000000000 +0000\r\ncommitter C <c@x> 5 +0000\r\n\r\nm\r\nx\r\n", "3425f6be1ae63ac9395556f047476ce2a316ce6b57fc7af16bfc14a4b8b07594"),
    (b"author Ada <a@x> 1000000000 +0000\nauthor Bob <b@x> 2000000000 +0000\ncommitter C <c@x> 5 +0000\n\nm\n", "a79b0605b222914ced46d4a6d5f21951a5858f789f3e1187532239c3020e6d21"),
    (b"author Ada <ada@x> 1000000000 +0000\ncommitter C <c@x> 5 +0000\ngpgsig -----BEGIN\n author Eve <e@x> 7 +0000\n -----END\n\nm\n", "4bb0e9dc3df6f03161c35cd40fcb8389eacf08b52eed355400247093fb2795f0"),
    (b"committer C <c@x> 5 +0000\nauthor Bob <b@x> 2000000000 +0000\n\nm\n", "a79b0605b222914ced46d4a6d5f21951a5858f789f3e1187532239c3020e6d21"),
    (b"author Ada <ada@x> 1000000000 +0000\ncommitter C <c@x> 5 +0000\nencoding ISO-8859-1\n\ncaf\xe9\n", "e0475d5053923496d5730d074e579d01e6b8de0357d36ad27a9eb51071ebcf1c"),
    (b"author Ada <a@x> 1000000000 +0000\ncommitter C <c@x> 5 +0000\n", "a010d7e86ed9d9c3be80a5be11ce529e8b2ce6ffb7c0b9bdb9b2eadcb471aae4"),
    (b"author Ada <a@x> 1000000000 +0000\ncommitter C <c@x> 5 +0000", "a010d7e86ed9d9c3be80a5be11ce529e8b2ce6ffb7c0b9bdb9b2eadcb471aae4"),
    (b"\n", "3dd29174c655b9fb5e132887356b3135377463334f2b7673513d77365a1af06c"),
    (b"author Ada <ada@x> 1000000000 +0000\ncommitter C <c@x> 5 +0000\nx-odd\nmergetag object 1\n  x\n\nm\n", "4bb0e9dc3df6f03161c35cd40fcb8389eacf08b52eed355400247093fb2795f0"),
];

/// Every pinned commit, in a repository of its own.
fn pinned() -> impl Iterator<Item = (Git, String)> {
    const PEOPLE: &[u8] = b"author Ada <ada@x> 1000000000 +0000\ncommitter C <c@x> 5 +0000\n\n";
    let authors = AUTHORS
        .iter()
        .map(|(author, id)| ([b"author ", *author, b"\ncommitter C <c@x> 5 +0000\n\nm\n"].concat(), id));
    let messages = MESSAGES.iter().map(|(message, id)| ([PEOPLE, *message].concat(), id));
    let commits = COMMITS.iter().map(|(rest, id)| (rest.to_vec(), id));
    authors.chain(messages).chain(commits).map(|(rest, id)| {
        let git = Git::new();
        git.set("refs/heads/main", &git.raw_commit(&git.small_tree(), &rest));
        (git, format!("change.{id}"))
    })
}

#[test]
fn odd_commits_become_the_changes_of_release_0_12() {
    for (git, expected) in pinned() {
        let commit = git.run(&["cat-file", "commit", "main"]);
        let head = Gemel::of(&git).target("refs/head").map(|id| id.to_string());
        assert_eq!(head, Some(expected), "{commit:?}");
    }
}

/// Asks that release itself.
#[test]
#[ignore = "needs the program of release 0.12, named by GEMEL_PEER"]
fn release_0_12_agrees() {
    let peer = Peer::named().expect("GEMEL_PEER names the program of release 0.12");
    for (git, expected) in pinned() {
        let refs = peer.import(&git).unwrap();
        assert_eq!(refs["refs/head"].to_string(), expected, "{}", git.run(&["cat-file", "commit", "main"]));
    }
}
