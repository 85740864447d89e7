//! The pool of a job under the Fair scheduler, from what is kept of its job.xml.

use crate::scheduler::fair::pool_name::pool_of_job;

use super::JobSpec;
use super::pool_properties::POOL_PROPERTY;

impl JobSpec {
    /// The pool of the job: the one it was moved to, else the one it names, else the value of `property`.
    pub(crate) fn pool<'a>(&'a self, moved_to: Option<&'a str>, property: &str) -> &'a str {
        let named = moved_to.or_else(|| self.pool_property(POOL_PROPERTY));
        pool_of_job(named, self.pool_property(property))
    }

    fn pool_property(&self, property: &str) -> Option<&str> {
        match property {
            "user.name" => Some(&self.user),
            "mapred.job.queue.name" => Some(&self.queue),
            _ => self.pool_properties.0.get(property).map(String::as_str),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_comes_from_a_move_the_job_itself_or_the_configured_property() {
        let mut spec = JobSpec::with_defaults("ann", "prod", 1, 0);
        let set = |spec: &mut JobSpec, property: &str, value: &str| {
            spec.pool_properties.0.insert(property.to_owned(), value.to_owned());
        };
        assert_eq!(spec.pool(None, "pool.name"), "default");
        assert_eq!((spec.pool(None, "user.name"), spec.pool(None, "mapred.job.queue.name")), ("ann", "prod"));
        set(&mut spec, "pool.name", " ads ");
        assert_eq!((spec.pool(None, "pool.name"), spec.pool(None, "user.name")), ("ads", "ann"));
        set(&mut spec, POOL_PROPERTY, "own");
        assert_eq!((spec.pool(None, "pool.name"), spec.pool(Some("moved"), "pool.name")), ("own", "moved"));
    }
}
