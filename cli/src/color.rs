//! Colours, and when to use them.

/// `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// When the output is a terminal and `NO_COLOR` is not set
    #[default]
    Auto,
    /// Even through a pipe
    Always,
    /// Never
    Never,
}

impl ColorChoice {
    /// Whether to colour a stream.
    pub(crate) fn enabled(self, is_terminal: bool, no_color: bool) -> bool {
        match self {
            ColorChoice::Auto => is_terminal && !no_color,
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        }
    }
}

/// The role of a piece of text; each role has one look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    /// Ordinary text.
    #[default]
    Plain,
    /// Headings and file headers.
    Bold,
    /// Secondary text.
    Dim,
    /// Identities.
    Id,
    /// Names such as `C1`.
    Name,
    /// Added lines and files.
    Added,
    /// Removed lines and files.
    Removed,
    /// Modified files and hunk headers.
    Changed,
    /// All is well.
    Good,
    /// Worth a look.
    Caution,
    /// Wrong.
    Bad,
}

impl Style {
    /// Parameters of the "select graphic rendition" sequence; empty for plain text.
    pub(crate) fn sgr(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Id => "34",
            Style::Name => "1;36",
            Style::Added | Style::Good => "32",
            Style::Removed => "31",
            Style::Changed => "36",
            Style::Caution => "33",
            Style::Bad => "1;31",
        }
    }
}
