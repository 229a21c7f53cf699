//! The behaviour suite: one test binary. Modules are named after the layer they look at.

#[cfg(test)]
mod object_files;
#[cfg(test)]
mod object_fuzz;
#[cfg(test)]
mod object_gen;
#[cfg(test)]
mod object_properties;
#[cfg(test)]
mod object_rules;
#[cfg(test)]
mod object_schema;
#[cfg(test)]
mod store_fuzz;
#[cfg(test)]
mod tidy;
