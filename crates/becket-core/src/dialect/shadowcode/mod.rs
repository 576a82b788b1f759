//! wip
mod config_edit;
mod definitions;
mod lexical;
mod profile;
mod tree;
