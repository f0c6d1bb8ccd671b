-- 0046_event_node.sql - a node's events are found among all that happened
--
-- Events of jobs name no node.

CREATE INDEX event_node ON event (node, revision) WHERE node <> '';
