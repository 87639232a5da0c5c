//! The options of `shaper completions` and `shaper man`. Floor 6: front.

use clap::Args;
use clap_complete::aot::Shell;

/// `shaper completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  shaper completions bash > ~/.local/share/bash-completion/completions/shaper
  shaper completions zsh > ~/.zfunc/_shaper
  shaper completions fish > ~/.config/fish/completions/shaper.fish

For zsh ~/.zfunc has to be in fpath before compinit runs. PowerShell and elvish read the script in \
their profile.

Exit codes: 0 written, 2 no such shell, 3 stdout takes no more, 141 stdout closed.")]
pub(in crate::command) struct CompletionsArgs {
    /// The shell that is to complete
    #[arg(value_name = "SHELL")]
    pub(in crate::command) shell: Shell,
}

/// `shaper man`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  man <(shaper man)
  shaper man > ~/.local/share/man/man1/shaper.1
  shaper man run > ~/.local/share/man/man1/shaper-run.1

Exit codes: 0 written, 2 no such command, 3 stdout takes no more, 141 stdout closed.")]
pub(in crate::command) struct ManArgs {
    /// The page of one command; without it one page of all
    #[arg(value_name = "COMMAND")]
    pub(in crate::command) command: Option<String>,
}
