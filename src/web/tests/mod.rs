//! Pages as they are rendered.

mod pages;
