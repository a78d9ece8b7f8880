//! The PostgreSQL protocol over sockets.
