//! A worktree with a store beside it, for tests of the content module.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test binary uses its part of this module")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use gemel_object::{Gid, Limits};
use gemel_repo::content::{
    Capture, CaptureRequest, CheckoutPlan, CheckoutReport, CheckoutRequest, CompareWith, ContentError,
    PathDelta, WorktreeDelta, WorktreeRequest, capture, delta_trees, delta_worktree, plan_checkout,
    root_tree,
};
use gemel_repo::facts::Silent;
use gemel_store::Store;
use gemel_store::vfs::real::RealDisk;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const LIMITS: Limits = Limits::DEFAULT;
pub const CACHE: &str = "stat-default";

/// A directory with files, and a store in its `.gemel`.
pub struct Work {
    pub temp: tempfile::TempDir,
    pub root: PathBuf,
    pub store: Store,
    /// The state recorded last.
    pub recorded: Option<Gid>,
}

impl Work {
    pub fn new() -> Work {
        Work::with_store_at("work/.gemel")
    }

    /// With the store outside the worktree, where no other program sees it.
    pub fn apart() -> Work {
        Work::with_store_at("store")
    }

    fn with_store_at(place: &str) -> Work {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("work");
        fs::create_dir(&root).unwrap();
        let store = Store::init(Arc::new(RealDisk::new()), &temp.path().join(place)).unwrap();
        Work { temp, root, store, recorded: None }
    }

    /// Runs git in the worktree, independent of the machine's configuration.
    #[allow(clippy::disallowed_methods, reason = "git is the reference these tests compare with")]
    pub fn git(&self, args: &[&str]) -> Vec<u8> {
        let output = std::process::Command::new("git")
            .args(["-c", "core.quotepath=off", "-c", "user.name=a", "-c", "user.email=a@b"])
            .args(args)
            .current_dir(&self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", self.temp.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file and its directories.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        write(&self.root, path, content);
    }

    pub fn link(&self, target: &str, path: &str) {
        let at = self.path(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, at).unwrap();
    }

    pub fn remove(&self, path: &str) {
        let at = self.path(path);
        if at.symlink_metadata().unwrap().is_dir() {
            fs::remove_dir_all(at).unwrap();
        } else {
            fs::remove_file(at).unwrap();
        }
    }

    pub fn request(&self) -> CaptureRequest<'_> {
        CaptureRequest {
            root: &self.root,
            recorded: self.recorded,
            cache: Some(CACHE),
            compare_with: CompareWith::Nothing,
            verify: false,
            limits: &LIMITS,
            progress: &Silent,
        }
    }

    /// Captures with whatever `adjust` changes, commits, and records the state.
    pub fn capture_with(
        &mut self,
        adjust: impl FnOnce(&mut CaptureRequest<'_>),
    ) -> Result<Capture, ContentError> {
        let captured = {
            let mut request = self.request();
            adjust(&mut request);
            let writer = self.store.writer()?;
            let captured = capture(&self.store, &writer, &request)?;
            writer.commit()?;
            captured
        };
        // What no ref transaction has followed may not be durable, and is not taken for stored.
        let mut transaction = self.store.transaction()?;
        transaction.set(format!("refs/names/{}", captured.state), captured.state);
        transaction.commit("test", 0)?;
        self.recorded = Some(captured.state);
        Ok(captured)
    }

    pub fn capture(&mut self) -> Capture {
        self.capture_with(|_| {}).unwrap()
    }

    pub fn worktree_request(&self) -> WorktreeRequest<'_> {
        WorktreeRequest {
            root: &self.root,
            recorded: self.recorded,
            against: None,
            cache: Some(CACHE),
            verify: false,
            limits: &LIMITS,
            progress: &Silent,
        }
    }

    pub fn status(&self) -> WorktreeDelta {
        delta_worktree(&self.store, &self.worktree_request()).unwrap()
    }

    /// Changed paths, each with `+`, `-` or `~` in front.
    pub fn changes(&self) -> Vec<String> {
        let with_cache = marked(&self.status().changes);
        let request = WorktreeRequest { verify: true, cache: None, ..self.worktree_request() };
        let without = marked(&delta_worktree(&self.store, &request).unwrap().changes);
        assert_eq!(with_cache, without, "the stat cache changed the answer");
        with_cache
    }

    /// Paths of a state.
    pub fn paths(&self, state: &Gid) -> Vec<String> {
        let root = root_tree(&self.store, state).unwrap();
        delta_trees(&self.store, None, Some(root)).unwrap().into_iter().map(|delta| delta.path).collect()
    }

    pub fn checkout_request<'a>(&self, target: &'a Path, state: Gid) -> CheckoutRequest<'a> {
        CheckoutRequest {
            target,
            state,
            recorded: None,
            overlay: false,
            force: false,
            cache: None,
            limits: &LIMITS,
            progress: &Silent,
        }
    }

    pub fn checkout(&self, request: &CheckoutRequest<'_>) -> Result<CheckoutReport, ContentError> {
        self.plan(request)?.run(&self.store, request)
    }

    pub fn plan(&self, request: &CheckoutRequest<'_>) -> Result<CheckoutPlan, ContentError> {
        plan_checkout(&self.store, request)
    }

    /// An exact checkout over the worktree itself, as the default workspace does it.
    pub fn go(&mut self, state: Gid, force: bool) -> Result<CheckoutReport, ContentError> {
        let root = self.root.clone();
        let request = CheckoutRequest {
            recorded: self.recorded,
            force,
            cache: Some(CACHE),
            ..self.checkout_request(&root, state)
        };
        let report = self.checkout(&request)?;
        self.recorded = Some(state);
        Ok(report)
    }
}

/// Numbers that look random and are the same for the same seed.
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    pub fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

pub fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let at = root.join(path);
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(at, content).unwrap();
}

pub fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

pub fn marked(changes: &[PathDelta]) -> Vec<String> {
    let mark = |delta: &PathDelta| match (delta.before, delta.after) {
        (None, _) => format!("+{}", delta.path),
        (_, None) => format!("-{}", delta.path),
        _ => format!("~{}", delta.path),
    };
    changes.iter().map(mark).collect()
}

/// Everything below a directory except `.gemel` and `.git`: path, kind with executable bit, bytes.
pub fn snapshot(root: &Path) -> Vec<(String, char, Vec<u8>)> {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if matches!(path.file_name().unwrap().to_str(), Some(".gemel" | ".git")) {
                continue;
            }
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                open.push(path);
            } else if metadata.is_symlink() {
                found.push((name, 'l', fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()));
            } else {
                let kind = if metadata.permissions().mode() & 0o111 != 0 { 'x' } else { 'f' };
                found.push((name, kind, fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}
