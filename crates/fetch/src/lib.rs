//! One URL in, one outcome out: DNS, robots, TLS, HTTP, limits, logins

pub mod robots;
