//! One page of a list whose rows are made only as far as they are looked at.

use crate::facts::{Cursor, Page};
use crate::{RepoError, Result};
use gemel_object::Gid;

/// Most rows of one page.
const MAX_LIMIT: u64 = 1000;

/// Told when the row a cursor points to is no longer in the list.
const RESTARTED: &str = "the row the cursor points to is gone; the list starts over";

/// Which part of a list is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Rows at most; 0 is refused, more than 1000 capped.
    pub limit: u64,
    /// The row to go on after.
    pub cursor: Option<Cursor>,
}

impl Default for Window {
    fn default() -> Window {
        Window { limit: 100, cursor: None }
    }
}

/// The rows of a page of the list `ids`. `row` makes one, or says that it is not among those asked for.
///
/// # Errors
/// `Invalid` for a limit of 0; those of `row`.
pub(crate) fn page<T>(
    ids: &[Gid],
    window: &Window,
    mut row: impl FnMut(&Gid) -> Result<Option<T>>,
) -> Result<(Vec<T>, Page)> {
    if window.limit == 0 {
        return Err(RepoError::invalid("--limit must be at least 1"));
    }
    let (mut start, mut sent, mut notice) = (0, 0, None);
    if let Some(cursor) = &window.cursor {
        match ids.iter().position(|id| *id == cursor.anchor) {
            Some(at) if row(&cursor.anchor)?.is_some() => {
                start = at + 1;
                // Rows that are not asked for are not counted, so that the place in the list is not the number sent.
                sent = cursor.offset.min(count(start)).max(1);
            }
            _ => notice = Some(RESTARTED.to_owned()),
        }
    }
    let limit = usize::try_from(window.limit.min(MAX_LIMIT)).unwrap_or(usize::MAX);
    let (mut rows, mut last, mut more) = (Vec::new(), None, false);
    for id in ids.iter().skip(start) {
        let Some(made) = row(id)? else { continue };
        if rows.len() == limit {
            more = true;
            break;
        }
        rows.push(made);
        last = Some(*id);
    }
    let offset = sent.saturating_add(count(rows.len()));
    let next = last.filter(|_| more).map(|anchor| Cursor { anchor, offset });
    Ok((rows, Page { count: offset - sent, next, notice }))
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gemel_object::Family;

    fn ids(n: u8) -> Vec<Gid> {
        (0..n).map(|at| Gid::new(Family::Claim, [at; 32])).collect()
    }

    /// Pages of the even ones among six, `limit` at a time.
    fn walk(limit: u64) -> Vec<Vec<u8>> {
        let ids = ids(6);
        let (mut pages, mut cursor) = (Vec::new(), None);
        loop {
            let window = Window { limit, cursor };
            let row = |id: &Gid| Ok(Some(id.digest()[0]).filter(|n| n % 2 == 0));
            let (rows, page) = page(&ids, &window, row).unwrap();
            assert_eq!(page.count, rows.len() as u64);
            pages.push(rows);
            match page.next {
                Some(next) => cursor = Some(next),
                None => return pages,
            }
        }
    }

    #[test]
    fn pages_of_chosen_rows_add_up() {
        assert_eq!(walk(1), [[0], [2], [4]]);
        assert_eq!(walk(2), [vec![0, 2], vec![4]]);
        assert_eq!(walk(3), [[0, 2, 4]]);
        assert_eq!(walk(9), [[0, 2, 4]]);
    }

    #[test]
    fn where_the_anchor_went() {
        let ids = ids(4);
        let go = |anchor: u8, offset: u64| {
            let cursor = Some(Cursor { anchor: Gid::new(Family::Claim, [anchor; 32]), offset });
            let row = |id: &Gid| Ok(Some(id.digest()[0]).filter(|n| *n != 2));
            let (rows, page) = page(&ids, &Window { limit: 1, cursor }, row).unwrap();
            (rows, page.next.map(|next| next.offset), page.notice.is_some())
        };
        assert_eq!(go(0, 1), (vec![1], Some(2), false));
        // Elsewhere than it says, and beyond any list.
        assert_eq!(go(1, 7), (vec![3], None, false));
        assert_eq!(go(0, u64::MAX), (vec![1], Some(2), false));
        // Not asked for any more, or gone.
        assert_eq!(go(2, 3), (vec![0], Some(1), true));
        assert_eq!(go(9, 1), (vec![0], Some(1), true));
        assert!(page(&ids, &Window { limit: 0, cursor: None }, |_| Ok(Some(()))).is_err());
    }
}
