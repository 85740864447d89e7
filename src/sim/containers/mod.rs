//! Containers in the simulator: workers with bags, applications and their programs, and their faults.

mod applications;
mod beats;
mod chosen_calls;
mod container_plan;
mod physical_checks;
mod sim_application;
mod sim_worker;

pub(super) use beats::address_of;
pub(super) use chosen_calls::row;
pub(super) use container_plan::ContainerPlan;
pub(super) use sim_application::{ApplicationKind, ApplicationNumbers, Program, SimApplication, items_of};
pub(super) use sim_worker::SimWorker;
