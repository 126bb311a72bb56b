-- The account the Cores read with. For trying it out only: choose a password of your own elsewhere.
CREATE USER 'replicator'@'%' IDENTIFIED WITH caching_sha2_password BY 'replicator';
GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO 'replicator'@'%';
