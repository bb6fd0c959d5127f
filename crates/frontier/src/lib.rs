//! Which URL goes next, and not before when
