//! Messages as lines of standard input and output.
//!
//! A thread reads, so that nothing waits for a client that is silent, and hands on what can be understood. Lines that
//! are too long are passed over; lines that are no messages are answered as JSON-RPC demands; before the first request
//! nothing else counts. At the end of the input everything asked for is answered before the service hears of the end.

use crate::session::lines::{self, Line};
use crate::session::strict;
use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, mpsc};

/// Longest message: a document of evidence fits.
const MAX_LINE_BYTES: usize = 32 << 20;
/// Lines read ahead.
const AHEAD: usize = 16;

/// JSON-RPC's codes for lines that are no messages.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// Standard input and output.
pub(super) struct Lines {
    input: mpsc::Receiver<Line>,
    begun: bool,
    shared: Arc<Shared>,
}

/// Whether output failed because nobody reads it.
pub(super) struct Broken(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Requests without an answer so far.
    open: Mutex<HashSet<RequestId>>,
    /// Told whenever one is answered.
    answered: Notify,
    broken: AtomicBool,
}

impl Broken {
    pub(super) fn get(&self) -> bool {
        self.0.broken.load(Ordering::Relaxed)
    }
}

impl Lines {
    /// Begins to read standard input.
    pub(super) fn open() -> Lines {
        let (sender, input) = mpsc::channel(AHEAD);
        std::thread::spawn(move || {
            let mut stdin = io::stdin().lock();
            // Input that cannot be read has ended.
            while let Ok(Some(line)) = lines::next(&mut stdin, MAX_LINE_BYTES) {
                if sender.blocking_send(line).is_err() {
                    break;
                }
            }
        });
        Lines { input, begun: false, shared: Arc::default() }
    }

    pub(super) fn broken(&self) -> Broken {
        Broken(self.shared.clone())
    }

    /// The message in a line, or what to answer instead of handing it on.
    fn message(&mut self, line: &Line) -> Result<RxJsonRpcMessage<RoleServer>, Option<Value>> {
        let line = match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => return Err(None),
            Line::Whole(line) => line,
            Line::TooLong(start) => {
                let id = strict::parse(start).id.map_or(Value::Null, Value::from);
                let message = format!("a message is longer than {MAX_LINE_BYTES} bytes");
                return Err(Some(refusal(&id, INVALID_REQUEST, &message)));
            }
        };
        let strict::Parsed { id, value } = strict::parse(line);
        let id = id.map_or(Value::Null, Value::from);
        let value = value.map_err(|message| Some(refusal(&id, PARSE_ERROR, &message)))?;
        let id = value.get("id").filter(|id| id.is_number() || id.is_string()).cloned().unwrap_or_default();
        let message = serde_json::from_value::<RxJsonRpcMessage<RoleServer>>(value);
        let message =
            message.map_err(|_| Some(refusal(&id, INVALID_REQUEST, "not a message of the protocol")))?;
        let mut open = self.shared.open();
        match &message {
            JsonRpcMessage::Request(request) => {
                self.begun |= !matches!(request.request, ClientRequest::PingRequest(_));
                // An identity in use would get one answer for two questions.
                if !open.insert(request.id.clone()) {
                    return Err(Some(refusal(
                        &id,
                        INVALID_REQUEST,
                        "a request with this id is not answered yet",
                    )));
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    open.remove(id);
                    self.shared.answered.notify_one();
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        let request = matches!(message, JsonRpcMessage::Request(_));
        if request || self.begun { Ok(message) } else { Err(None) }
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a line whole. A reader that has gone is remembered.
    fn write(&self, message: &Value) -> io::Result<()> {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let mut out = io::stdout().lock();
        let written = out.write_all(&line).and_then(|()| out.flush());
        if written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            self.broken.store(true, Ordering::Relaxed);
        }
        written
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let shared = self.shared.clone();
        async move {
            let written =
                serde_json::to_value(&item).map_err(io::Error::from).and_then(|item| shared.write(&item));
            let id = match &item {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            if let Some(id) = id {
                shared.open().remove(id);
                shared.answered.notify_one();
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        while let Some(line) = self.input.recv().await {
            match self.message(&line) {
                Ok(message) => return Some(message),
                Err(Some(answer)) if self.shared.write(&answer).is_err() => return None,
                Err(_) => {}
            }
        }
        while !self.shared.broken.load(Ordering::Relaxed) && !self.shared.open().is_empty() {
            self.shared.answered.notified().await;
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn refusal(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}
