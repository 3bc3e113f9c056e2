//! Roles and what each may use. They are sets and not a ladder: who may only write cannot read.

use axum::http::Method;

/// What a route asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Public,
    Read,
    ReadWrite,
    Write,
    Admin,
}

/// The level of a route.
pub(crate) fn level_of(method: &Method, path: &str) -> Level {
    let Some(api) = path.strip_prefix("/api/v1/") else {
        return match path {
            "/status" => Level::Read,
            _ if path.starts_with("/api/") => Level::ReadWrite,
            _ => Level::Public,
        };
    };
    let is_get = method == Method::GET || method == Method::HEAD;
    match api {
        "push" | "timers" if method == Method::POST => Level::Write,
        "resources/kv/list" => Level::Read,
        _ if api == "system" || api.starts_with("system/") => Level::Admin,
        _ if method == Method::DELETE && api.starts_with("resources/queues/") => Level::Admin,
        _ if is_get && (api.starts_with("kv/") || api.starts_with("resources/")) => Level::Read,
        _ if is_get && (api == "status" || api.starts_with("status/")) => Level::Read,
        _ => Level::ReadWrite,
    }
}

/// The roles that somebody has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roles {
    admin: bool,
    read_write: bool,
    read_only: bool,
    write_only: bool,
}

impl Roles {
    /// Adds the role of this name. False: there is none.
    pub(crate) fn add(&mut self, name: &str) -> bool {
        match name {
            "admin" => self.admin = true,
            "read-write" => self.read_write = true,
            "read-only" => self.read_only = true,
            "write-only" => self.write_only = true,
            _ => return false,
        }
        true
    }

    pub(crate) fn allow(self, level: Level) -> bool {
        self.admin
            || match level {
                Level::Public => true,
                Level::Read => self.read_write || self.read_only,
                Level::ReadWrite => self.read_write,
                Level::Write => self.read_write || self.write_only,
                Level::Admin => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_have_their_levels() {
        for (level, method, path) in [
            (Level::Public, "GET", "/health"),
            (Level::Public, "GET", "/metrics"),
            (Level::Public, "GET", "/"),
            (Level::Read, "GET", "/api/v1/kv/n/k"),
            (Level::Read, "POST", "/api/v1/resources/kv/list"),
            (Level::Read, "GET", "/api/v1/resources/kv/namespaces"),
            (Level::ReadWrite, "POST", "/api/v1/locks"),
            (Level::ReadWrite, "POST", "/api/v1/kv"),
            (Level::ReadWrite, "PUT", "/api/v1/kv/n/k"),
            (Level::ReadWrite, "GET", "/api/v1/pop/queue/q"),
            (Level::ReadWrite, "POST", "/api/v1/transaction"),
            (Level::ReadWrite, "GET", "/api/v2/new"),
            (Level::Write, "POST", "/api/v1/push"),
            (Level::Write, "POST", "/api/v1/timers"),
            (Level::ReadWrite, "DELETE", "/api/v1/timers/q/k"),
            (Level::Admin, "DELETE", "/api/v1/resources/queues/q"),
            (Level::Admin, "POST", "/api/v1/system/kv"),
        ] {
            assert_eq!(level_of(&method.parse().unwrap(), path), level, "{method} {path}");
        }
    }

    #[test]
    fn roles_are_sets() {
        let of = |name: &str| {
            let mut roles = Roles::default();
            assert!(roles.add(name));
            [Level::Read, Level::ReadWrite, Level::Write, Level::Admin].map(|level| roles.allow(level))
        };
        assert_eq!(of("admin"), [true; 4]);
        assert_eq!(of("read-write"), [true, true, true, false]);
        assert_eq!(of("read-only"), [true, false, false, false]);
        assert_eq!(of("write-only"), [false, false, true, false]);
        assert!(!Roles::default().add("owner"));
    }
}
