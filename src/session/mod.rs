//! One client's state: transaction, prepared statements, portals, settings.
