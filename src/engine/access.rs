//! Access lists of queues and jobs (1.2.1 `AccessControlList`, `ACLsManager`).

/// Whether a list, `*` or `user,user group,group`, names `user`. Groups are not known here yet, so they admit nobody.
pub(super) fn allows(list: &str, user: &str) -> bool {
    let users = list.split(' ').next().unwrap_or("");
    list.trim() == "*" || users.split(',').any(|name| name.trim() == user && !user.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_users_before_the_first_blank() {
        assert!(allows("*", "anyone"));
        assert!(allows("alice,bob ops", "bob"));
        assert!(!allows("alice,bob ops", "ops"));
        assert!(!allows(" ", "alice"));
        assert!(!allows("", ""));
    }
}
