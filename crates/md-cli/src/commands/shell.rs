//! `md-cli completions` and `man`: shell completions and manual pages, made from the definition of
//! the command line.

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use md_scenario::failure::RunError;
use md_scenario::nearest;

use super::refused;
use crate::args::Cli;

/// Returns the completion script for a shell.
pub fn completions(shell: Shell) -> String {
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(shell, &mut command, name, &mut script);
    // If a program's name has a hyphen, `clap_complete` 4.6.11 labels its subcommands for bash with
    // another name than the one that the script looks up.
    String::from_utf8_lossy(&script).replace("md__subcmd__cli", "md__cli")
}

/// Returns the manual page of the program, or of one of its commands.
///
/// # Errors
/// Returns an error if there is no such command.
pub fn manual(command: Option<&str>) -> Result<String, RunError> {
    let mut program = Cli::command();
    program.build();
    let page = match command {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(found) => found.clone(),
            None => return Err(unknown(name, &program)),
        },
    };
    let mut text = Vec::new();
    Man::new(page).render(&mut text).map_err(|error| refused(error.to_string()))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn unknown(name: &str, program: &clap::Command) -> RunError {
    let names: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
    let help = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", names.join(", ")),
    };
    refused(format!("there is no command `{name}`: {help}"))
}
