-- To heed a robots.txt (-7), also one that cannot be read (-95), and to pass over the alias of a host (-98) are
-- decisions, no errors.

DROP VIEW errors;
CREATE VIEW errors AS
SELECT * FROM attempts
WHERE is_robots = 0 AND next <> 'waiting' AND (outcome >= 400 OR (outcome < 0 AND outcome NOT IN (-7, -95, -98)));
