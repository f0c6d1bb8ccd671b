-- 0045_event_node.sql - a node's events are found among all that happened
--
-- Most events are of jobs and name no node.

CREATE INDEX event_node ON event (node, revision) WHERE node <> '';
