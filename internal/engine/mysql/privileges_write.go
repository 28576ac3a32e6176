package mysql

// OwnPrivileges are what Godwit's own tables take, in the database of the connection.
const OwnPrivileges = "CREATE, SELECT, INSERT, UPDATE, DELETE, ALTER, INDEX, DROP"
