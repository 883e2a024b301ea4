/** What nestwatch does to the service (`domain/action/action.ts`). A Bird has at most one open action. */
export const ACTIONS = `
  CREATE TABLE bird_action (
    id TEXT NOT NULL,
    region TEXT NOT NULL,
    bird_id TEXT NOT NULL,
    -- 1 or 0.
    open BIGINT NOT NULL,
    wanted_us BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (id)
  );
  -- One row while no rule may act.
  CREATE TABLE action_pause (
    at_us BIGINT NOT NULL PRIMARY KEY,
    who TEXT NOT NULL
  );
  CREATE UNIQUE INDEX bird_action_open ON bird_action (region, bird_id) WHERE open = 1;
  CREATE INDEX bird_action_of_bird ON bird_action (region, bird_id, wanted_us);
  CREATE INDEX bird_action_by_age ON bird_action (wanted_us);`;
