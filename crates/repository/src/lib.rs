//! Every URL ever met, once: is it new, what do we know of it, what is due on its host
